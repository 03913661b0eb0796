internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Turns calls into events of the core and the core's answers into replies.
@LoopActor
final class ControlHandler: ClientHandler {
    private let core: Core
    private let instances: InstanceTable
    private let requests: Requests
    private let events: EventStream
    private let authorization: Authorization
    private let descriptions: Descriptions
    private let explanations: Explanations
    private let launchCalls: LaunchCalls
    private let applicationCalls: ApplicationCalls
    private let taskCalls: TaskCalls
    private let metrics: Metrics
    private let pressure: PressureWatcher
    private let installer: AppInstaller
    private let reload: Reload
    private let service = Control.service(version: productVersion)

    init(
        core: Core, instances: InstanceTable, requests: Requests, events: EventStream,
        authorization: Authorization, descriptions: Descriptions, explanations: Explanations,
        launchCalls: LaunchCalls, applicationCalls: ApplicationCalls, taskCalls: TaskCalls,
        metrics: Metrics, pressure: PressureWatcher, installer: AppInstaller, reload: Reload
    ) {
        self.core = core
        self.instances = instances
        self.requests = requests
        self.events = events
        self.authorization = authorization
        self.descriptions = descriptions
        self.explanations = explanations
        self.launchCalls = launchCalls
        self.applicationCalls = applicationCalls
        self.taskCalls = taskCalls
        self.metrics = metrics
        self.pressure = pressure
        self.installer = installer
        self.reload = reload
    }

    func called(
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
            case .launch(let launch): try launchCalls.launch(launch, connection, descriptors)
            case .describe:
                connection.reply(
                    ControlReply.described(descriptions.description(for: connection.peer)))
            case .list:
                installer.forgetUnused()
                connection.reply(ControlReply.listed(descriptions.summaries(for: connection.peer)))
            case .status(let target):
                connection.reply(
                    ControlReply.status(try descriptions.statuses(of: target, connection.peer)))
            case .prewarm(let app, let count): try launchCalls.prewarm(app, count, connection)
            case .wait(let target): try wait(target, connection)
            case .transition(let transition, let target):
                try authorization.require(.control, of: target, connection.peer)
                ask(.transition(Target(target), Transition(transition)), for: connection)
            case .signal(let instance, let number): try signal(instance, number, connection)
            case .watch(let after):
                try events.add(
                    connection, authorization.audience(of: connection.peer), after: after)
            case .reload:
                try authorization.require(.administer, owner: nil, connection.peer)
                reload.begin { connection.reply(ControlReply.reloaded($0)) }
            case .explain(let app):
                let installed = try authorization.find(app, .observe, connection.peer)
                connection.reply(ControlReply.explained(explanations.explanation(of: installed)))
            case .resetFailed(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                ask(.resetFailed(installed.identifier), for: connection)
            case .application(let call): try applicationCalls.perform(call, connection)
            case .prepare(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                ask(.prepare(installed.identifier), for: connection)
            case .metrics(let app):
                let installed = try authorization.find(app, .observe, connection.peer)
                connection.reply(ControlReply.metrics(.init(of: installed.identifier, metrics)))
            case .task(let call): try taskCalls.perform(call, connection)
            case .debugPressure(let level):
                try authorization.require(.administer, owner: nil, connection.peer)
                pressure.report(MemoryPressure(level)) {
                    connection.reply(ControlReply.done)
                }
            }
        } catch {
            connection.fail(error)
        }
    }

    // MARK: Calls

    private func ask(_ request: Request, for connection: ControlConnection) {
        requests.ask(request, for: .client(.plain(connection)))
    }

    private func wait(
        _ target: Control.WaitTarget, _ connection: ControlConnection
    ) throws(ControlError) {
        switch target {
        case .instance(let instance):
            try authorization.require(.observe, of: .instance(instance), connection.peer)
            ask(.awaitExit(.instance(InstanceIdentifier(instance))), for: connection)
        case .launch(let name):
            guard
                let instance = authorization.instance(
                    of: LaunchIdentifier(name), for: connection.peer)
            else {
                throw .noSuchLaunch(name.cut)
            }
            ask(.awaitExit(.instance(instance)), for: connection)
        }
    }

    private func signal(
        _ instance: UInt64, _ number: Int32, _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.control, of: .instance(instance), connection.peer)
        guard instances.signal(number, to: InstanceIdentifier(instance)) else {
            throw .notRunning(.instance(instance))
        }
        core.handle(
            .signalSent(InstanceIdentifier(instance), signal: UInt8(truncatingIfNeeded: number)))
        connection.reply(ControlReply.done)
    }

    /// The client is gone. What it asked for goes on, but nobody waits for the answers any more.
    func left(_ connection: ControlConnection) { requests.abandon(connection) }
}
