internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What apps ask of the daemon, until each has its answer.
@LoopActor
final class AppRequests {
    private unowned let channels: ApplicationChannels
    private var supervisor: Supervisor { channels.supervisor }

    /// Requests of apps, apart from those of clients.
    private static let appRequestBit: UInt64 = 1 << 62
    private var open = OpenRequests()
    private var repeated = RepeatedRequests()
    private var nextAppRequest: UInt64 = 1

    init(channels: ApplicationChannels) { self.channels = channels }

    func forget(_ instance: InstanceIdentifier) {
        repeated.forget(instance)
        open.forget(instance)
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
        _ submission: TaskRequest, _ cookie: UInt64, by instance: Instance
    ) {
        guard let cookie = toDo(cookie, instance, canRepeat: true) else { return }
        supervisor.work.submit(submission, cookie, instance)
    }

    /// The cookie to answer, where there is something to do.
    private func toDo(
        _ cookie: UInt64, _ instance: Instance, canRepeat: Bool
    ) -> UInt64? {
        let plain = cookie & ~AppReport.againBit
        switch repeated.standing(of: cookie, from: instance.identifier, canRepeat: canRepeat) {
        case .new: return plain
        case .underWay: return nil
        case .lost:
            channels.answer(
                instance.identifier, plain,
                .refused(
                    code: ECONNRESET,
                    reason: "greenroomd was restarted; whether it had done this is not known"))
            return nil
        }
    }

    /// One of an app, not of a client.
    func newRequest() -> RequestIdentifier {
        defer { nextAppRequest += 1 }
        return RequestIdentifier(nextAppRequest | Self.appRequestBit)
    }

    /// False, with the refusal on its way, if there are too many.
    private func admit(_ cookie: UInt64, of instance: InstanceIdentifier) -> Bool {
        guard open.isFull(of: instance) else { return true }
        channels.answer(
            instance, cookie,
            .refused(
                code: EAGAIN,
                reason:
                    "\(OpenRequests.limit) requests of this app are under way; ask again when one "
                    + "of them is answered"))
        return false
    }

    /// The core's answer to it goes back to the app; nil: it has too many, and its refusal.
    func newRequest(of instance: InstanceIdentifier, _ cookie: UInt64) -> RequestIdentifier? {
        guard admit(cookie, of: instance) else { return nil }
        let request = newRequest()
        open.add(request, .init(instance: instance, cookie: cookie))
        return request
    }

    private func request(
        _ wish: AppReport.SceneRequest, _ cookie: UInt64, by instance: Instance
    ) {
        let request: SceneRequest
        switch wish {
        case .activate(nil, let content):
            channels.contents.set(content, for: instance.identifier, isKept: false)
            request = .activate(nil)
        case .activate(let session?, _):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .activate(scene)
        case .destroy(let session):
            guard let scene = SceneIdentifier(session: session) else { return refuse() }
            request = .discard(scene)
        // It runs, so it can update what it shows.
        case .refresh: return channels.answer(instance.identifier, cookie, .done)
        }
        guard let identifier = newRequest(of: instance.identifier, cookie) else { return }
        supervisor.handle(.sceneRequested(identifier, instance.app, request))

        func refuse() {
            channels.answer(
                instance.identifier, cookie, .refused(code: 2, reason: "there is no such session"))
        }
    }

    /// True if an app had asked.
    func take(_ answer: Answer, to request: RequestIdentifier) -> Bool {
        guard request.rawValue & Self.appRequestBit != 0 else { return false }
        guard let own = open.take(request) else { return true }
        guard let cookie = own.cookie else { return true }
        let instance = own.instance
        if case .refused(.noSuchScene) = answer, repeated.wasRepeated(cookie, by: instance) {
            // The former supervisor saw to it.
            channels.answer(instance, cookie, .done)
        } else if case .refused(let refusal) = answer {
            channels.answer(instance, cookie, refusal.answerToApp)
        } else {
            channels.answer(instance, cookie, .done)
        }
        return true
    }

    private func openURL(_ url: String, _ cookie: UInt64, for instance: Instance) {
        guard supervisor.lifecycle.instance(instance.identifier)?.isInFront == true else {
            return channels.answer(
                instance.identifier, cookie,
                .refused(code: 1, reason: "only the app in front may open a URL"))
        }
        guard admit(cookie, of: instance.identifier) else { return }
        let request = newRequest()
        open.add(request, .init(instance: instance.identifier, cookie: nil))
        let reason = channels.open?(url, instance.app, request) ?? nil
        if reason != nil { _ = open.take(request) }
        channels.answer(
            instance.identifier, cookie,
            reason.map { .refused(code: 2, reason: $0) } ?? .done)
    }
}
