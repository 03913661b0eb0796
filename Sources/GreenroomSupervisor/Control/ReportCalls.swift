internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The calls that only report: the daemon, its apps and its instances.
@LoopActor
struct ReportCalls {
    let installer: AppInstaller
    let authorization: Authorization
    let daemon: DaemonDescription
    let summaries: AppSummaries
    let statuses: InstanceStatuses
    let explanations: Explanations
    let metrics: Metrics

    func describe(_ connection: ControlConnection) {
        connection.reply(ControlReply.described(daemon.description(for: connection.peer)))
    }

    func list(_ connection: ControlConnection) {
        installer.forgetUnused()
        connection.reply(ControlReply.listed(summaries.summaries(for: connection.peer)))
    }

    func list(calledAs name: String, _ connection: ControlConnection) {
        installer.forgetUnused()
        connection.reply(
            ControlReply.listed(summaries.summaries(calledAs: name, for: connection.peer)))
    }

    func listAll(_ connection: ControlConnection) {
        installer.forgetUnused()
        connection.reply(ControlReply.listed(summaries.allSummaries(for: connection.peer)))
    }

    func status(
        of target: Control.Target?, _ connection: ControlConnection
    ) throws(ControlError) {
        connection.reply(
            ControlReply.status(try statuses.statuses(of: target, connection.peer)))
    }

    /// - Returns: the explanation, and whether past launches decide whether the app is kept warm.
    func explanation(
        of app: String, _ connection: ControlConnection
    ) throws(ControlError) -> (Control.Explanation, isPlannable: Bool) {
        let installed = try authorization.find(app, .observe, connection.peer)
        return (
            explanations.explanation(of: installed), explanations.isPlannable(installed)
        )
    }

    func metrics(of app: String, _ connection: ControlConnection) throws(ControlError) {
        let installed = try authorization.find(app, .observe, connection.peer)
        connection.reply(ControlReply.metrics(.init(of: installed.identifier, metrics)))
    }
}
