internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Turns calls into events of the core and the core's answers into replies.
@LoopActor
final class ControlHandler {
    /// What an answer of the core goes to.
    enum Waiting {
        case launch(
            ControlConnection, LaunchIdentifier, requestedAt: Instant, byteCount: Int)
        case transition(ControlConnection)
        case exit(ControlConnection)
        case prewarm(PrewarmCall)
        case reset(ControlConnection)
        case prepare(ControlConnection)
        /// For a reason, whose answer names the app.
        case handling(ControlConnection, AppIdentifier, LaunchIdentifier, requestedAt: Instant)

        var connection: ControlConnection {
            switch self {
            case .launch(let connection, _, _, _), .transition(let connection),
                .exit(let connection), .reset(let connection), .prepare(let connection):
                connection
            case .prewarm(let call): call.connection
            case .handling(let connection, _, _, _): connection
            }
        }
    }

    /// One call that asks for several paused instances: answered when the last of them is there.
    final class PrewarmCall {
        let connection: ControlConnection
        var missing: Int
        var instances: [UInt64] = []
        var error: ControlError?
        init(connection: ControlConnection, count: Int) {
            self.connection = connection
            missing = count
        }
    }

    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    let events: EventStream
    let service = Control.service(version: Options.version)
    var access: Access
    var installer: AppInstaller!
    /// Reads the configuration and all manifests anew.
    var reload: ((@escaping (Control.ReloadReport) -> Void) -> Void)!
    var degraded: [Control.Note] = []
    /// The apps that were chosen for schemes and types.
    var defaultHandlersPath = ""
    var givenDefaultHandlersPath = ""
    var surroundings: (() -> Control.Surroundings)!

    private(set) var waiting: [RequestIdentifier: Waiting] = [:]
    private var requestsOfConnection: [UInt64: [RequestIdentifier]] = [:]
    private var nextRequest: UInt64 = 1
    private var nextLaunch: UInt64 = 1
    /// No other supervisor's, not even of the same process number.
    private lazy var launchPrefix = "\(getpid())-\(supervisor.now.nanoseconds)-"

    init(supervisor: Supervisor, catalog: AppCatalog, events: EventStream, access: Access) {
        self.supervisor = supervisor
        self.catalog = catalog
        self.events = events
        self.access = access
    }

    func serve(_ connection: ControlConnection) {
        connection.onCall = { [unowned self] in called($0, $1, $2) }
        connection.onClose.append { [unowned self] in abandon($0) }
    }

    private func called(
        _ connection: ControlConnection, _ call: Call, _ descriptors: [FileDescriptor]
    ) {
        if connection.answer(call, from: service) { return }
        do throws(ServiceError) {
            try perform(ControlCall(call), connection, descriptors)
        } catch {
            connection.fail(error)
        }
    }

    private func perform(
        _ call: ControlCall, _ connection: ControlConnection, _ descriptors: [FileDescriptor]
    ) {
        do throws(ControlError) {
            switch call {
            case .launch(let launch): try self.launch(launch, connection, descriptors)
            case .describe: connection.reply(ControlReply.described(description))
            case .list:
                installer.forgetUnused()
                connection.reply(ControlReply.listed(summaries(for: connection.peer)))
            case .status(let target):
                connection.reply(ControlReply.status(try statuses(of: target, connection.peer)))
            case .prewarm(let app, let count): try prewarm(app, count, connection)
            case .wait(let target): try wait(target, connection)
            case .transition(let transition, let target):
                try require(.control, of: target, connection.peer)
                let request = register(.transition(connection))
                if transition == .foreground { supervisor.metrics.foregroundRequested(request) }
                supervisor.handle(
                    .transitionRequested(request, Target(target), Transition(transition)))
            case .signal(let instance, let number): try signal(instance, number, connection)
            case .watch(let after):
                events.add(connection, access.audience(of: connection.peer), after: after)
            case .reload:
                try require(.administer, owner: nil, connection.peer)
                reload { connection.reply(ControlReply.reloaded($0)) }
            case .explain(let app):
                let installed = try find(app, .observe, connection.peer)
                connection.reply(ControlReply.explained(explanation(of: installed)))
            case .resetFailed(let app):
                let installed = try find(app, .control, connection.peer)
                supervisor.handle(
                    .resetFailedRequested(register(.reset(connection)), installed.identifier))
            case .application(let call): try perform(call, connection)
            case .prepare(let app):
                let installed = try find(app, .control, connection.peer)
                supervisor.handle(
                    .prepareRequested(register(.prepare(connection)), installed.identifier))
            case .metrics(let app):
                let installed = try find(app, .observe, connection.peer)
                connection.reply(ControlReply.metrics(metrics(of: installed)))
            case .task(let call): try perform(call, connection)
            case .debugPressure(let level):
                try require(.administer, owner: nil, connection.peer)
                supervisor.reclaimer.pressure.report(MemoryPressure(level)) {
                    connection.reply(ControlReply.done)
                }
            }
        } catch {
            connection.fail(error)
        }
    }

    // MARK: Calls

    private func launch(
        _ call: Control.LaunchCall, _ connection: ControlConnection, _ descriptors: [FileDescriptor]
    ) throws(ControlError) {
        let requestedAt = supervisor.now
        let app = try find(call.app, .control, connection.peer)
        if !access.isTrusted(connection.peer) {
            if app.account.user != connection.peer.user {
                try forbidBaggage(
                    call, needed: "user \(app.account.name): a launch of another user's app")
            } else if app.grantsGroups {
                try forbidBaggage(call, needed: "root: a launch of an app with groups of its own")
            }
        }
        if call.workingDirectory != nil, !access.isTrusted(connection.peer) {
            // We would enter it with our own rights, not the client's.
            throw .permissionDenied(
                needed: "a descriptor of the directory (workingDirectoryDescriptor) instead of its "
                    + "path, or root")
        }
        let identifier = LaunchIdentifier(call.launchIdentifier ?? newLaunchIdentifier())
        let (context, key) = try supervisor.launcher.contexts.gather(
            call, for: app, descriptors: descriptors, requestedAt: requestedAt)
        let byteCount = connection.callByteCount
        try connection.user.beginLaunch(byteCount: byteCount)
        let request = register(
            .launch(connection, identifier, requestedAt: requestedAt, byteCount: byteCount))
        supervisor.launcher.contexts.remember(context, for: request)
        supervisor.handle(
            .launchRequested(
                request,
                LaunchRequest(
                    app: app.identifier, launchIdentifier: identifier, environmentKey: key,
                    inBackground: call.isBackground, isAttached: call.isAttached)))
    }

    /// A launch of an app with rights that its caller lacks carries nothing that could use them: no
    /// loader variables, no descriptors, no working directory.
    private func forbidBaggage(
        _ call: Control.LaunchCall, needed: String
    ) throws(ControlError) {
        let carriesDescriptors =
            call.standardInput != nil || call.standardOutput != nil || call.standardError != nil
            || call.workingDirectoryDescriptor != nil
        guard !carriesDescriptors, call.workingDirectory == nil, call.callerEnvironment == nil,
            call.environment.isEmpty, !call.takesTerminal
        else {
            throw .permissionDenied(needed: needed + " may bring arguments only")
        }
    }

    func newLaunchIdentifier() -> String {
        defer { nextLaunch += 1 }
        return launchPrefix + String(nextLaunch)
    }

    private func prewarm(
        _ name: String, _ count: Int, _ connection: ControlConnection
    ) throws(ControlError) {
        let app = try find(name, .control, connection.peer)
        let call = PrewarmCall(connection: connection, count: count)
        for _ in 0..<count {
            supervisor.handle(
                .prewarmRequested(
                    register(.prewarm(call)), app.identifier, app.poolEnvironment.key))
        }
    }

    private func wait(
        _ target: Control.WaitTarget, _ connection: ControlConnection
    ) throws(ControlError) {
        switch target {
        case .instance(let instance):
            try require(.observe, of: .instance(instance), connection.peer)
            supervisor.handle(
                .exitAwaited(
                    register(.exit(connection)), .instance(InstanceIdentifier(instance))))
        case .launch(let name):
            guard let instance = instance(of: LaunchIdentifier(name), for: connection.peer) else {
                throw .noSuchLaunch(name)
            }
            supervisor.handle(.exitAwaited(register(.exit(connection)), .instance(instance)))
        }
    }

    private func signal(
        _ instance: UInt64, _ number: Int32, _ connection: ControlConnection
    ) throws(ControlError) {
        try require(.control, of: .instance(instance), connection.peer)
        guard supervisor.instances.signal(number, to: InstanceIdentifier(instance)) else {
            throw .notRunning(.instance(instance))
        }
        connection.reply(ControlReply.signaled)
    }

    // MARK: Waiting

    func register(_ waiter: Waiting) -> RequestIdentifier {
        let request = RequestIdentifier(nextRequest)
        nextRequest += 1
        waiting[request] = waiter
        requestsOfConnection[waiter.connection.identifier, default: []].append(request)
        return request
    }

    func takeWaiting(_ request: RequestIdentifier) -> Waiting? {
        guard let waiter = waiting.removeValue(forKey: request) else { return nil }
        if case .launch(let connection, _, _, let byteCount) = waiter {
            connection.user.endLaunch(byteCount: byteCount)
        }
        if case .handling(let connection, _, _, _) = waiter {
            connection.user.endLaunch(byteCount: Self.contentByteCount)
        }
        let connection = waiter.connection.identifier
        if requestsOfConnection[connection]?.count == 1 {
            requestsOfConnection[connection] = nil
        } else {
            requestsOfConnection[connection]?.removeAll { $0 == request }
        }
        return waiter
    }

    /// The client is gone. What it set in motion goes on; nobody waits for it any more. A launch
    /// is answered all the same: until then it costs its user what it brought.
    private func abandon(_ connection: ControlConnection) {
        for request in requestsOfConnection.removeValue(forKey: connection.identifier) ?? [] {
            switch waiting[request] {
            case .launch?, .handling?, .reset?, .prepare?, nil: break
            case .transition?, .exit?, .prewarm?:
                waiting[request] = nil
                supervisor.metrics.forget(request)
                supervisor.handle(.requestAbandoned(request))
            }
        }
    }
}
