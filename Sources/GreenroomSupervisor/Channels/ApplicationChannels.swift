internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The channels of apps made with the SDK, which live as long as the apps: carries what the core tells
/// them, and what they say back. An app that sends nonsense, too much or nothing hurts only itself: its
/// messages are taken one a turn of the loop, and its deadlines come.
@LoopActor
final class ApplicationChannels {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    /// Opens a URL for an app, as this request; the reason if it cannot.
    var open: ((_ url: String, _ from: AppIdentifier, RequestIdentifier) -> String?)?

    /// The acknowledgement of a launch. Cookies of steps count up from 1 and never come so far; those
    /// of what needs no answer lie between (`freeCookie`).
    static let launchCookie = UInt64.max
    private static let freeCookieBit: UInt64 = 1 << 63

    let containers: Containers
    let contents: WaitingContents
    let traces: LaunchTraces
    private(set) var launches: AppLaunches!
    private(set) var requests: AppRequests!
    private(set) var handover: CredentialHandover!

    init(
        supervisor: Supervisor, catalog: AppCatalog, runtimeDirectory: String,
        containers: Containers
    ) {
        self.containers = containers
        self.supervisor = supervisor
        self.catalog = catalog
        contents = WaitingContents(runtimeDirectory: runtimeDirectory)
        traces = LaunchTraces(supervisor: supervisor)
        launches = AppLaunches(channels: self)
        requests = AppRequests(channels: self)
        handover = CredentialHandover(channels: self, runtimeDirectory: runtimeDirectory)
    }

    func forget(_ instance: InstanceIdentifier) {
        traces.forget(instance)
        contents.forget(instance)
        handover.forget(instance)
        launches.forget(instance)
        requests.forget(instance)
    }

    // MARK: Telling

    func tell(_ instance: InstanceIdentifier, _ pending: PendingStep) {
        guard let app = supervisor.instances[instance]?.app else { return }
        letHear(instance)
        traces.noteReturn(instance, pending.step)
        let session = pending.scene.description
        if pending.step == .connect || pending.step == .connectInBackground {
            var connection = SceneConnection(session: session, cookie: pending.cookie)
            connection.isForForeground = pending.step == .connect
            connection.configuration = catalog[app]?.sceneConfiguration
            connection.content = contents.take(instance)
            return connect(connection, pending.scene, to: instance)
        }
        if pending.scene == .application {
            guard let event = AppEvent.Lifecycle(pending.step) else { return }
            send(.lifecycle(event, cookie: pending.cookie), to: instance)
        } else {
            guard let transition = AppEvent.SceneTransition(pending.step) else { return }
            send(.scene(transition, session: session, cookie: pending.cookie), to: instance)
        }
    }

    /// Its terminal's ^Z has stopped it, and it could not answer: it goes on until the freezer has it.
    private func letHear(_ instance: InstanceIdentifier) {
        guard supervisor.lifecycle.instance(instance)?.isAttached == true,
            let pid = supervisor.instances.pid(of: instance),
            ProcessTable.entry(of: pid)?.isStopped == true
        else { return }
        _ = supervisor.instances.signal(SIGCONT, to: instance)
    }

    func notify(_ instance: InstanceIdentifier, _ notice: Notice) {
        let cookie = freeCookie()
        switch notice {
        case .didReceiveMemoryWarning:
            send(.lifecycle(.didReceiveMemoryWarning, cookie: cookie), to: instance)
        case .significantTimeChange:
            send(.lifecycle(.significantTimeChange, cookie: cookie), to: instance)
        case .protectedDataWillBecomeUnavailable:
            launches.noteTold(instance, isAvailable: false)
            send(.lifecycle(.protectedDataWillBecomeUnavailable, cookie: cookie), to: instance)
        case .protectedDataDidBecomeAvailable:
            launches.noteTold(instance, isAvailable: true)
            handover.handOver(to: instance)
            send(.lifecycle(.protectedDataDidBecomeAvailable, cookie: cookie), to: instance)
        case .discardedSessions(let sessions):
            send(.discardScenes(sessions.map(\.description), cookie: cookie), to: instance)
        }
    }

    /// To the scene used last; where none is connected, it waits for the one that will be.
    func deliver(_ instance: InstanceIdentifier, _ request: RequestIdentifier) {
        guard let context = supervisor.launcher.contexts[request] else { return }
        traces.noteReturn(instance, context.requestedAt)
        guard !context.content.isEmpty, let app = supervisor.instances[instance]?.app else {
            return
        }
        let record = supervisor.lifecycle.instance(instance)
        let scene = record?.conversation?.scenes.last { $0.isConnected }
        if catalog[app]?.description.scenes != .unsupported, scene == nil {
            contents.set(
                context.content, for: instance, isKept: record?.inBackground ?? false)
            return
        }
        let session = scene.flatMap { $0.scene == .application ? nil : $0.scene.description }
        send(.deliver(context.content, session: session, cookie: freeCookie()), to: instance)
    }

    func inspectTracer(of instance: InstanceIdentifier) {
        let isTraced = supervisor.instances.pid(of: instance).map(Self.isTraced) ?? false
        supervisor.handle(.tracerInspected(instance, isTraced: isTraced))
    }

    /// TracerPid of proc_pid_status(5).
    private static func isTraced(_ pid: Int32) -> Bool {
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/status") else { return false }
        let line = text.split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
        return line.map { $0.split(separator: "\t").last != "0" } ?? false
    }

    /// Never given twice, not even by another supervisor.
    func freeCookie() -> UInt64 { MonotonicClock.nanoseconds | Self.freeCookieBit }

    /// What cannot be sent is not acknowledged, and the deadline comes.
    func send(_ event: AppEvent, to identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier], let channel = instance.channel
        else { return }
        do {
            let credentials = event.carriesCredentials ? handover.takeFile(of: identifier) : nil
            _ = try channel.send(
                try DaemonMessage.event(event).encoded().datagram,
                descriptors: credentials.map { [$0.rawValue] } ?? [])
            withExtendedLifetime(credentials) {}
        } catch {
            supervisor.reporter.say(
                .warning, "telling instance \(identifier): \(error)", of: instance.app, identifier)
        }
    }

    // MARK: Saved state

    func handOver(
        _ scene: SceneIdentifier, to instance: InstanceIdentifier, isThere: Bool
    ) {
        supervisor.states.handOver(
            scene, to: instance, isThere: isThere, cookie: freeCookie())
    }

    /// With what is kept for its session: in the same message, unless that is full of what the scene is
    /// connected for.
    func connect(
        _ connection: SceneConnection, _ scene: SceneIdentifier, to instance: InstanceIdentifier
    ) {
        guard let state = supervisor.states.archive(for: scene, of: instance) else {
            return send(.connectScene(connection), to: instance)
        }
        var whole = connection
        whole.restoration = state.archive.activity
        if (try? DaemonMessage.event(.connectScene(whole)).encoded()) != nil {
            return send(.connectScene(whole), to: instance)
        }
        send(.connectScene(connection), to: instance)
        send(
            .restoreState(state, session: connection.session, cookie: freeCookie()), to: instance)
    }

    // MARK: Hearing

    func received(_ report: AppReport, from instance: Instance) {
        let identifier = instance.identifier
        switch report {
        case .acknowledged(Self.launchCookie, _):
            launches.tellLockChange(to: instance)
            supervisor.handle(.becameReady(identifier))
        case .acknowledged(let cookie, let handled):
            if supervisor.metrics.deliveries.acknowledged(cookie, handled: handled) { return }
            guard cookie & Self.freeCookieBit == 0 else { return }
            supervisor.handle(.acknowledged(identifier, cookie: cookie))
        case .launchStep(let step, let time, _): traces.note("\(step)", time, of: instance)
        case .didDrawFirstFrame(let time, _):
            traces.note("firstDraw", time, of: instance)
            supervisor.metrics.drew(identifier, at: traces.latest(time), isSaid: true)
            supervisor.handle(.drewFirstFrame(identifier))
        case .callbackOverran(let callback, let duration):
            traces.overran(instance, callback, duration)
        case .state(let state, let session, let cookie):
            supervisor.states.received(state, session: session, cookie, from: instance)
        case .requestScene(let wish, let cookie): requests.requested(wish, cookie, by: instance)
        case .openURL(let url, let cookie): requests.requestedURL(url, cookie, by: instance)
        case .launchTask(let name, let isFinished, let time):
            supervisor.metrics.task(
                name, isFinished: isFinished, at: traces.latest(time), of: identifier)
        case .launchSteps(let steps): traces.restore(steps, of: identifier)
        case .subscribesToMetrics(let wants):
            supervisor.metrics.deliveries.subscribe(identifier, wants)
        case .background(.submit(let request, let cookie)):
            requests.submitted(request, cookie, by: instance)
        case .background(let report): supervisor.work.received(report, from: instance)
        }
    }

    /// To one that a former supervisor told of its launch.
    func askAgain(_ instance: InstanceIdentifier) { send(.askAgain, to: instance) }

    // MARK: Sending

    /// Sends what the app acknowledges and nobody else waits for; the cookie of that.
    func send(
        _ make: (UInt64) -> AppEvent, to identifier: InstanceIdentifier
    ) -> UInt64? {
        guard supervisor.instances[identifier]?.channel != nil else { return nil }
        let cookie = freeCookie()
        send(make(cookie), to: identifier)
        return cookie
    }

    func answer(
        _ instance: InstanceIdentifier, _ cookie: UInt64, _ answer: AppEvent.Answer
    ) {
        send(.answer(request: cookie, answer), to: instance)
    }
}

extension AppEvent {
    fileprivate var carriesCredentials: Bool {
        switch self {
        case .launch(let launch): launch.flags.contains(.credentials)
        case .credentials: true
        case .lifecycle, .connectScene, .scene, .discardScenes, .deliver, .answer, .restoreState,
            .background, .metrics, .diagnostics:
            false
        }
    }
}
