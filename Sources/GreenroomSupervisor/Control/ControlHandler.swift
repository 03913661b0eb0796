internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Turns calls into events of the core and the core's answers into replies.
@LoopActor
final class ControlHandler: ClientHandler {
    private let requests: Requests
    private let events: EventStream
    private let authorization: Authorization
    private let reportCalls: ReportCalls
    private let launchCalls: LaunchCalls
    private let instanceCalls: InstanceCalls
    private let applicationCalls: ApplicationCalls
    private let historyCalls: HistoryCalls
    private let taskCalls: TaskCalls
    private let foregroundCalls: ForegroundCalls
    private let learning: ImportLearning
    private let administrationCalls: AdministrationCalls
    private let service = Control.service(version: productVersion)

    init(
        requests: Requests, events: EventStream, authorization: Authorization,
        reportCalls: ReportCalls, launchCalls: LaunchCalls, instanceCalls: InstanceCalls,
        applicationCalls: ApplicationCalls, historyCalls: HistoryCalls, taskCalls: TaskCalls,
        foregroundCalls: ForegroundCalls, learning: ImportLearning,
        administrationCalls: AdministrationCalls
    ) {
        self.requests = requests
        self.events = events
        self.authorization = authorization
        self.reportCalls = reportCalls
        self.launchCalls = launchCalls
        self.instanceCalls = instanceCalls
        self.applicationCalls = applicationCalls
        self.historyCalls = historyCalls
        self.taskCalls = taskCalls
        self.foregroundCalls = foregroundCalls
        self.learning = learning
        self.administrationCalls = administrationCalls
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
            case .describe: reportCalls.describe(connection)
            case .list: reportCalls.list(connection)
            case .listAll: reportCalls.listAll(connection)
            case .verify(let drafts): try administrationCalls.verify(drafts, connection)
            case .status(let target): try reportCalls.status(of: target, connection)
            case .prewarm(let app, let count): try launchCalls.prewarm(app, count, connection)
            case .wait(let target): try instanceCalls.wait(target, connection)
            case .transition(let transition, let target):
                try instanceCalls.change(target, transition, connection)
            case .signal(let instance, let number):
                try instanceCalls.signal(instance, number, connection)
            case .watch(let after):
                try events.add(
                    connection, authorization.audience(of: connection.peer), after: after)
            case .reload: try administrationCalls.reload(connection)
            case .explain(let app):
                let (explanation, isPlannable) = try reportCalls.explanation(of: app, connection)
                historyCalls.explain(explanation, isPlannable: isPlannable, connection)
            case .plan(let app): try historyCalls.plan(app, connection)
            case .pauseHistory(let query): try historyCalls.findPauses(query, connection)
            case .resetFailed(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                ask(.resetFailed(installed.identifier), for: connection)
            case .application(let call): try applicationCalls.perform(call, connection)
            case .prepare(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                ask(.prepare(installed.identifier), for: connection)
            case .metrics(let app): try reportCalls.metrics(of: app, connection)
            case .task(let call): try taskCalls.perform(call, connection)
            case .forgetImports(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                learning.forget(installed.identifier)
                connection.reply(ControlReply.done)
            case .reportForeground(let front): try foregroundCalls.report(front, connection)
            case .history(let query): try historyCalls.find(query, connection)
            case .forgetHistory(let app): try historyCalls.forget(app, connection)
            case .debugPressure(let level):
                try administrationCalls.reportPressure(level, connection)
            }
        } catch {
            connection.fail(error)
        }
    }

    private func ask(_ request: Request, for connection: ControlConnection) {
        requests.ask(request, for: .client(.plain(connection)))
    }

    /// The client is gone. What it asked for goes on, but nobody waits for the answers any more.
    func left(_ connection: ControlConnection) {
        requests.abandon(connection)
        foregroundCalls.left(connection)
    }
}
