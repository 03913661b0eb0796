internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Turns calls into events of the core and the core's answers into replies.
@LoopActor
final class ControlHandler {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    let events: EventStream
    let launches: ReasonedLaunches
    let service = Control.service(version: Options.version)
    var access: Access
    var installer: AppInstaller!
    /// Reads the configuration and all manifests anew.
    var reload: ((@escaping (Control.ReloadReport) -> Void) -> Void)!
    /// Whether the machine says that a session of the user is locked.
    var hasLockedSession: (UInt32) -> Bool = { _ in false }
    var degraded: [Control.Note] = []
    /// The apps that were chosen for schemes and types.
    var defaultHandlersPath = ""
    var givenDefaultHandlersPath = ""
    var surroundings: (() -> Control.Surroundings)!

    private var waiting = WaitingCalls()

    init(
        supervisor: Supervisor, catalog: AppCatalog, events: EventStream,
        launches: ReasonedLaunches, access: Access
    ) {
        self.supervisor = supervisor
        self.catalog = catalog
        self.events = events
        self.launches = launches
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
            case .describe:
                connection.reply(ControlReply.described(description(for: connection.peer)))
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
                try events.add(connection, access.audience(of: connection.peer), after: after)
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
                throw .noSuchLaunch(Self.cut(name))
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
        supervisor.handle(
            .signalSent(InstanceIdentifier(instance), signal: UInt8(truncatingIfNeeded: number)))
        connection.reply(ControlReply.signaled)
    }

    // MARK: Waiting

    /// The number under which the core is asked; its answer goes to the waiter.
    func register(_ waiter: WaitingCalls.Waiter) -> RequestIdentifier { waiting.add(waiter) }

    func takeWaiting(_ request: RequestIdentifier) -> WaitingCalls.Waiter? {
        guard let waiter = waiting.take(request) else { return nil }
        if let byteCount = waiter.launchByteCount {
            waiter.connection.user.endLaunch(byteCount: byteCount)
        }
        return waiter
    }

    /// The client is gone. What it set in motion goes on; nobody waits for it any more.
    private func abandon(_ connection: ControlConnection) {
        for request in waiting.abandon(connection) {
            supervisor.metrics.forget(request)
            supervisor.handle(.requestAbandoned(request))
        }
    }
}
