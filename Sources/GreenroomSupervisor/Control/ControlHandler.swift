internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// The parts that answer calls, one for each subject.
@LoopActor
struct CallHandlers {
    let reports: ReportCalls
    let launches: LaunchCalls
    let instances: InstanceCalls
    let application: ApplicationCalls
    let history: HistoryCalls
    let tasks: TaskCalls
    let foreground: ForegroundCalls
    let learning: ImportLearning
    let libraries: LibraryLearner
    let administration: AdministrationCalls
}

/// Decodes calls, and hands each to the part that answers it.
@LoopActor
final class ControlHandler: ClientHandler {
    private let requests: Requests
    private let events: EventStream
    private let authorization: Authorization
    private let calls: CallHandlers

    init(
        requests: Requests, events: EventStream, authorization: Authorization,
        calls: CallHandlers
    ) {
        self.requests = requests
        self.events = events
        self.authorization = authorization
        self.calls = calls
    }

    func called(
        _ connection: ControlConnection, _ call: Call, _ descriptors: [FileDescriptor]
    ) {
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
            case .launch(let launch): try calls.launches.launch(launch, connection, descriptors)
            case .describe: calls.reports.describe(connection)
            case .list: calls.reports.list(connection)
            case .listAll: calls.reports.listAll(connection)
            case .listCalled(let name): calls.reports.list(calledAs: name, connection)
            case .verify(let drafts): try calls.administration.verify(drafts, connection)
            case .status(let target): try calls.reports.status(of: target, connection)
            case .prewarm(let app, let count): try calls.launches.prewarm(app, count, connection)
            case .wait(let target): try calls.instances.wait(target, connection)
            case .transition(let transition, let target):
                try calls.instances.change(target, transition, connection)
            case .signal(let instance, let number):
                try calls.instances.signal(instance, number, connection)
            case .watch(let after, let own):
                try events.add(
                    connection, authorization.audience(of: connection.peer), after: after,
                    own: own)
            case .reload: try calls.administration.reload(connection)
            case .explain(let app):
                let (explanation, isPlannable) = try calls.reports.explanation(of: app, connection)
                calls.history.explain(explanation, isPlannable: isPlannable, connection)
            case .plan(let app): try calls.history.plan(app, connection)
            case .pauseHistory(let query): try calls.history.findPauses(query, connection)
            case .resetFailed(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                calls.libraries.forgive(installed.identifier)
                ask(.resetFailed(installed.identifier), for: connection)
            case .application(let call): try calls.application.perform(call, connection)
            case .prepare(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                ask(.prepare(installed.identifier), for: connection)
            case .metrics(let app): try calls.reports.metrics(of: app, connection)
            case .task(let call): try calls.tasks.perform(call, connection)
            case .forgetImports(let app):
                let installed = try authorization.find(app, .control, connection.peer)
                calls.learning.forget(installed.identifier)
                connection.reply(ControlReply.done)
            case .reportForeground(let front): try calls.foreground.report(front, connection)
            case .history(let query): try calls.history.find(query, connection)
            case .forgetHistory(let app): try calls.history.forget(app, connection)
            case .keepHistory(let isOn, let user):
                try calls.history.keep(isOn, of: user, connection)
            case .debugPressure(let level):
                try calls.administration.reportPressure(level, connection)
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
        calls.foreground.left(connection)
    }
}
