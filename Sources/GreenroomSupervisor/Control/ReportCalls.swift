internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The calls that only report: the daemon, its apps and its instances.
@LoopActor
struct ReportCalls {
    let installer: AppInstaller
    let authorization: Authorization
    let descriptions: Descriptions
    let explanations: Explanations
    let metrics: Metrics

    func describe(_ connection: ControlConnection) {
        connection.reply(ControlReply.described(descriptions.description(for: connection.peer)))
    }

    func list(_ connection: ControlConnection) {
        installer.forgetUnused()
        connection.reply(ControlReply.listed(descriptions.summaries(for: connection.peer)))
    }

    func listAll(_ connection: ControlConnection) {
        installer.forgetUnused()
        connection.reply(ControlReply.listed(descriptions.allSummaries(for: connection.peer)))
    }

    func status(
        of target: Control.Target?, _ connection: ControlConnection
    ) throws(ControlError) {
        connection.reply(
            ControlReply.status(try descriptions.statuses(of: target, connection.peer)))
    }

    func explain(_ app: String, _ connection: ControlConnection) throws(ControlError) {
        let installed = try authorization.find(app, .observe, connection.peer)
        connection.reply(ControlReply.explained(explanations.explanation(of: installed)))
    }

    func metrics(of app: String, _ connection: ControlConnection) throws(ControlError) {
        let installed = try authorization.find(app, .observe, connection.peer)
        connection.reply(ControlReply.metrics(.init(of: installed.identifier, metrics)))
    }
}
