internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells apps made with the SDK what the core has decided, on channels that stay open as long as the
/// apps run. `ApplicationReports` has what they say back.
@LoopActor
final class ApplicationChannels {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let requests: Requests
    private let contents: WaitingContents
    private let states: KeptStates
    private let traces: LaunchTraces
    private let appLaunches: AppLaunches

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, messenger: AppMessenger,
        requests: Requests, contents: WaitingContents, states: KeptStates, traces: LaunchTraces,
        appLaunches: AppLaunches
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.messenger = messenger
        self.requests = requests
        self.contents = contents
        self.states = states
        self.traces = traces
        self.appLaunches = appLaunches
    }

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
            if pending.step == .willEnterForeground { deliverWaiting(to: instance, session: nil) }
        } else {
            guard let transition = AppEvent.SceneTransition(pending.step) else { return }
            messenger.send(
                .scene(transition, session: session, cookie: pending.cookie), to: instance)
            if pending.step == .willEnterForeground {
                deliverWaiting(to: instance, session: session)
            }
        }
    }

    /// Delivers the content that waited until the app or its scene entered the foreground.
    private func deliverWaiting(to instance: InstanceIdentifier, session: String?) {
        let content = contents.take(instance)
        guard !content.isEmpty else { return }
        messenger.send(
            .deliver(content, session: session, cookie: messenger.freeCookie()), to: instance)
    }

    /// Continues an app that ^Z on its terminal has stopped, because a stopped app cannot answer.
    /// The app then runs until it is frozen.
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
        case .protectedDataIsUnavailable:
            messenger.send(.lifecycle(.protectedDataIsUnavailable, cookie: cookie), to: instance)
        case .protectedDataDidBecomeAvailable: appLaunches.tellLock(true, to: instance)
        case .discardedSessions(let sessions):
            messenger.send(
                .discardScenes(sessions.map(\.description), cookie: cookie), to: instance)
        case .connectionArrived:
            messenger.send(.handleEvents(for: .socket, AppContent(), cookie: cookie), to: instance)
        }
    }

    /// Tells the app what it is wanted for, and delivers the content to the scene that was used
    /// last. If no scene is connected, the content waits for the next one. If the app is coming to
    /// the foreground, the content waits until it has been told so.
    func deliver(
        _ instance: InstanceIdentifier, _ request: RequestIdentifier, to address: DeliveryAddress
    ) {
        guard let context = requests[request]?.context else { return }
        traces.noteReturn(instance, context.requestedAt)
        let (events, content) = context.content.split
        messenger.send(
            .handleEvents(for: context.reason, events, cookie: messenger.freeCookie()),
            to: instance)
        guard !content.isEmpty, let app = instances[instance]?.app else { return }
        let lacksScene =
            catalog[app]?.description.scenes != .unsupported && address.scene == nil
        if lacksScene || address.awaitsReturn {
            let isKept = address.inBackground || address.awaitsReturn
            return contents.add(content, for: instance, isKept: isKept)
        }
        let session = address.scene.flatMap { $0 == .application ? nil : $0.description }
        messenger.send(
            .deliver(content, session: session, cookie: messenger.freeCookie()),
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
}

extension AppContent {
    /// The content in two parts: events of the system, which concern the app as a whole, and what
    /// the app or one of its scenes is asked to do.
    fileprivate var split: (events: AppContent, requests: AppContent) {
        var (events, requests) = (AppContent(), self)
        events.isForLocation = isForLocation
        events.newsstandDownloads = newsstandDownloads
        events.bluetoothCentrals = bluetoothCentrals
        events.bluetoothPeripherals = bluetoothPeripherals
        requests.isForLocation = false
        requests.newsstandDownloads = []
        requests.bluetoothCentrals = []
        requests.bluetoothPeripherals = []
        return (events, requests)
    }
}
