internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The channels of apps made with the SDK, which stay open as long as the apps run. Carries what
/// the core tells the apps, and what they say back. An app that sends nonsense, too much or nothing
/// harms only itself: one of its messages is read in each turn of the loop, and its deadlines pass.
@LoopActor
final class ApplicationChannels {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let requests: Requests
    private let contents: WaitingContents
    private let states: KeptStates
    private let metrics: Metrics
    private let deliveries: MetricDeliveries
    private let traces: LaunchTraces
    private let work: BackgroundWork
    private let appLaunches: AppLaunches
    private let appRequests: AppRequests

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, messenger: AppMessenger,
        requests: Requests, contents: WaitingContents, states: KeptStates, metrics: Metrics,
        deliveries: MetricDeliveries, traces: LaunchTraces, work: BackgroundWork,
        appLaunches: AppLaunches, appRequests: AppRequests
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.messenger = messenger
        self.requests = requests
        self.contents = contents
        self.states = states
        self.metrics = metrics
        self.deliveries = deliveries
        self.traces = traces
        self.work = work
        self.appLaunches = appLaunches
        self.appRequests = appRequests
    }

    // MARK: Telling

    func tell(_ instance: InstanceIdentifier, _ pending: PendingStep, _ terms: StepTerms) {
        guard let app = instances[instance]?.app else { return }
        if terms.isAttached { letHear(instance) }
        traces.noteReturn(instance, pending.step)
        let session = pending.scene.description
        if pending.step == .connect || pending.step == .connectInBackground {
            var connection = SceneConnection(session: session, cookie: pending.cookie)
            connection.isForForeground = pending.step == .connect
            connection.configuration = catalog[app]?.sceneConfiguration
            connection.content = contents.take(instance)
            let state = terms.bringsState ? states.archive(of: app, pending.scene) : nil
            return connect(connection, state, to: instance)
        }
        if pending.scene == .application {
            guard let event = AppEvent.Lifecycle(pending.step) else { return }
            messenger.send(.lifecycle(event, cookie: pending.cookie), to: instance)
        } else {
            guard let transition = AppEvent.SceneTransition(pending.step) else { return }
            messenger.send(
                .scene(transition, session: session, cookie: pending.cookie), to: instance)
        }
    }

    /// Continues an app that ^Z on its terminal has stopped: it could not answer. It then runs
    /// until it is frozen.
    private func letHear(_ instance: InstanceIdentifier) {
        guard let pid = instances.pid(of: instance),
            ProcessTable.entry(of: pid)?.isStopped == true
        else { return }
        _ = instances.signal(SIGCONT, to: instance)
    }

    func notify(_ instance: InstanceIdentifier, _ notice: Notice) {
        let cookie = messenger.freeCookie()
        switch notice {
        case .didReceiveMemoryWarning:
            messenger.send(.lifecycle(.didReceiveMemoryWarning, cookie: cookie), to: instance)
        case .significantTimeChange:
            messenger.send(.lifecycle(.significantTimeChange, cookie: cookie), to: instance)
        case .protectedDataWillBecomeUnavailable: appLaunches.tellLock(false, to: instance)
        case .protectedDataDidBecomeAvailable: appLaunches.tellLock(true, to: instance)
        case .discardedSessions(let sessions):
            messenger.send(
                .discardScenes(sessions.map(\.description), cookie: cookie), to: instance)
        }
    }

    /// Delivers the content to the scene that was used last. If none is connected, the content
    /// waits for the next one.
    func deliver(
        _ instance: InstanceIdentifier, _ request: RequestIdentifier, to address: DeliveryAddress
    ) {
        guard let context = requests[request]?.context else { return }
        traces.noteReturn(instance, context.requestedAt)
        guard !context.content.isEmpty, let app = instances[instance]?.app else {
            return
        }
        if catalog[app]?.description.scenes != .unsupported, address.scene == nil {
            contents.set(context.content, for: instance, isKept: address.inBackground)
            return
        }
        let session = address.scene.flatMap { $0 == .application ? nil : $0.description }
        messenger.send(
            .deliver(context.content, session: session, cookie: messenger.freeCookie()),
            to: instance)
    }

    func inspectTracer(of instance: InstanceIdentifier) {
        let isTraced = instances.pid(of: instance).map(Self.isTraced) ?? false
        core.handle(.tracerInspected(instance, isTraced: isTraced))
    }

    /// True if TracerPid is set (proc_pid_status(5)).
    private static func isTraced(_ pid: Int32) -> Bool {
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/status") else { return false }
        let line = text.split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
        return line.map { $0.split(separator: "\t").last != "0" } ?? false
    }

    // MARK: Saved state

    /// Connects the scene and sends the state that is kept for its session. The state goes into the
    /// same message, unless the content that the scene is connected for leaves no room.
    private func connect(
        _ connection: SceneConnection, _ state: SavedState?, to instance: InstanceIdentifier
    ) {
        guard let state else {
            return messenger.send(.connectScene(connection), to: instance)
        }
        var whole = connection
        whole.restoration = state.archive.activity
        if (try? DaemonMessage.event(.connectScene(whole)).encoded()) != nil {
            return messenger.send(.connectScene(whole), to: instance)
        }
        messenger.send(.connectScene(connection), to: instance)
        messenger.send(
            .restoreState(state, session: connection.session, cookie: messenger.freeCookie()),
            to: instance)
    }

    // MARK: Hearing

    func received(_ report: AppReport, from instance: Instance) {
        let identifier = instance.identifier
        switch report {
        case .acknowledged(let cookie, let handled):
            acknowledged(cookie, handled: handled, by: instance)
        case .launchStep(let step, let time, _): traces.note("\(step)", time, of: instance)
        case .didDrawFirstFrame(let time, _):
            traces.note("firstDraw", time, of: instance)
            metrics.drew(identifier, at: traces.latest(time), isSaid: true)
            core.handle(.drewFirstFrame(identifier))
        case .callbackOverran(let callback, let duration):
            traces.overran(instance, callback, duration)
        case .state(let state, let session, let cookie):
            states.received(state, session: session, cookie, from: instance)
        case .requestScene(let wish, let cookie): appRequests.requested(wish, cookie, by: instance)
        case .openURL(let url, let cookie): appRequests.requestedURL(url, cookie, by: instance)
        case .launchTask(let name, let isFinished, let time):
            metrics.task(
                name, isFinished: isFinished, at: traces.latest(time), of: identifier)
        case .launchSteps(let steps): traces.restore(steps, of: identifier)
        case .subscribesToMetrics(let wants):
            deliveries.subscribe(identifier, wants)
        case .background(.submit(let request, let cookie)):
            appRequests.submitted(request, cookie, by: instance)
        case .background(let report): work.received(report, from: instance)
        }
    }

    private func acknowledged(_ cookie: UInt64, handled: Bool, by instance: Instance) {
        let identifier = instance.identifier
        switch AppCookie(cookie) {
        case .launch:
            appLaunches.tellLockChange(to: instance)
            core.handle(.becameReady(identifier))
        // A delivery of metrics, or a notice, after which nobody asks.
        case .free: _ = deliveries.acknowledged(cookie, handled: handled, by: identifier)
        case .step: core.handle(.acknowledged(identifier, cookie: cookie))
        }
    }
}
