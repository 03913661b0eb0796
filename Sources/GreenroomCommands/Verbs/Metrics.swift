import ArgumentParser
import GreenroomControl

struct Metrics: Verb {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Show how an app launches and ends: times, exits, hangs.",
        discussion: "Times count from the user's request. They are kept across reboots.")

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console) { app throws(Failure) in
            let reply = try client.call(.metrics(app: app))
            guard case .metrics(let metrics) = reply else { return }
            console.write(output.json ? Report.json(reply) : Report.metrics(metrics))
        }
    }
}
