import ArgumentParser
import GreenroomControl

struct ResetFailed: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reset-failed",
        abstract: "Let the daemon start an app again that it gave up on.",
        discussion: "Forgets the latest starts, crashes and failures. Does not start the app.")

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console) { app throws(Failure) in
            let reply = try client.call(.resetFailed(app: app))
            if output.json { console.write(Report.json(reply)) }
        }
    }
}
