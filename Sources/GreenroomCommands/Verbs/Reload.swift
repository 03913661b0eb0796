import ArgumentParser
import GreenroomControl

struct Reload: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read the configuration and all manifests again.",
        discussion: "Bad files are reported, with exit code 1; they leave the good ones alone.",
        aliases: ["daemon-reload"])

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.reload)
        guard case .reloaded(let report) = reply else { return 1 }
        var changes = FileChanges()
        // Whoever names a socket may mean a daemon that is only tried.
        if daemon.socket == nil, !client.belongsToAnother {
            DesktopCopies.own.refresh(&changes, console)
        }
        if output.json {
            console.write(Report.json(reply))
        } else {
            let count = report.loaded.count
            console.line("\(count) app\(count == 1 ? "" : "s") installed")
            changes.report(console, json: false)
            for fault in report.failed { console.report(fault.description) }
            for fault in report.warnings { console.report("warning: \(fault)") }
        }
        return report.failed.isEmpty ? 0 : 1
    }
}
