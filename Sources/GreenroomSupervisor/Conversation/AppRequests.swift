internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The requests of apps to the daemon, until each is answered.
@LoopActor
final class AppRequests {
    private let core: Core
    private let instances: InstanceTable
    private let requests: Requests
    private let messenger: AppMessenger
    private let contents: WaitingContents
    private let opening: URLOpening

    private final class Repeated: InstancePart {
        var requests = RepeatedRequests()
    }

    init(
        core: Core, instances: InstanceTable, requests: Requests, messenger: AppMessenger,
        contents: WaitingContents, opening: URLOpening
    ) {
        self.core = core
        self.instances = instances
        self.requests = requests
        self.messenger = messenger
        self.contents = contents
        self.opening = opening
    }

    // MARK: Asking

    func requested(_ wish: AppReport.SceneRequest, _ cookie: UInt64, by instance: Instance) {
        guard let cookie = toDo(cookie, instance, canRepeat: wish.canRepeat) else { return }
        request(wish, cookie, by: instance)
    }

    func requestedURL(_ url: String, _ cookie: UInt64, by instance: Instance) {
        guard let cookie = toDo(cookie, instance, canRepeat: false) else { return }
        openURL(url, cookie, for: instance)
    }

    func submitted(
        _ submission: TaskSubmission, _ cookie: UInt64, by instance: Instance
    ) {
        guard let cookie = toDo(cookie, instance, canRepeat: true) else { return }
        ask(.submitTask(instance.app, ScheduledTask(submission)), cookie, by: instance)
    }

    /// The cookie to answer; nil if there is nothing to do.
    private func toDo(
        _ cookie: UInt64, _ instance: Instance, canRepeat: Bool
    ) -> UInt64? {
        let plain = cookie & ~AppReport.againBit
        let repeated = instances.part(Repeated.self, of: instance.identifier)
        switch repeated?.requests.progress(of: cookie, canRepeat: canRepeat) {
        case .new: return plain
        case .underWay, nil: return nil
        case .lost:
            messenger.answer(
                instance.identifier, plain,
                .refused(
                    code: ECONNRESET,
                    reason: "greenroomd was restarted; whether it had done this is not known"))
            return nil
        }
    }

    /// Returns false, and sends a refusal, if the instance has too many open requests.
    private func admit(_ cookie: UInt64, of instance: InstanceIdentifier) -> Bool {
        guard requests.isFull(of: instance) else { return true }
        messenger.answer(instance, cookie, .tooManyRequests)
        return false
    }

    private func ask(_ request: Request, _ cookie: UInt64, by instance: Instance) {
        guard admit(cookie, of: instance.identifier) else { return }
        requests.ask(request, for: .app(instance.identifier, cookie: cookie))
    }

    private func request(
        _ wish: AppReport.SceneRequest, _ cookie: UInt64, by instance: Instance
    ) {
        let request: SceneRequest
        switch wish {
        case .activate(nil, let content):
            contents.set(content, for: instance.identifier, isKept: false)
            request = .activate(nil)
        case .activate(let session?, _):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .activate(scene)
        case .destroy(let session):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .discard(scene)
        // The app runs, so it can update what it shows.
        case .refresh: return messenger.answer(instance.identifier, cookie, .done)
        }
        ask(.scene(instance.app, request), cookie, by: instance)

        func refuse() {
            messenger.answer(
                instance.identifier, cookie,
                .refused(code: ENOENT, reason: "there is no such session"))
        }
    }

    /// The core has answered the app's request.
    func answer(_ answer: Answer, to cookie: UInt64, of instance: InstanceIdentifier) {
        let repeated = instances.known(Repeated.self, of: instance)?.requests
        if case .refused(.noSuchScene) = answer, repeated?.contains(cookie) == true {
            // The former supervisor carried the request out.
            messenger.answer(instance, cookie, .done)
        } else if case .refused(let refusal) = answer {
            messenger.answer(instance, cookie, refusal.answerToApp)
        } else {
            messenger.answer(instance, cookie, .done)
        }
    }

    private func openURL(_ url: String, _ cookie: UInt64, for instance: Instance) {
        guard core.lifecycle.instance(instance.identifier)?.mayOpenURL == true else {
            return messenger.answer(
                instance.identifier, cookie,
                .refused(code: EPERM, reason: "only the app in front may open a URL"))
        }
        guard admit(cookie, of: instance.identifier) else { return }
        // The app is answered at once, so the core's answer goes to nobody.
        let reason = opening.open(url, from: instance.app, .app(instance.identifier, cookie: nil))
        messenger.answer(
            instance.identifier, cookie,
            reason.map { .refused(code: ENOENT, reason: $0) } ?? .done)
    }
}
