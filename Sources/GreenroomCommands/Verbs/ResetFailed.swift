import ArgumentParser
import GreenroomControl

struct ResetFailed: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reset-failed",
        abstract: "Let the daemon start an app again that it gave up on.",
        discussion: "Forgets the latest starts, crashes and failures. Does not start the app.")

    @Argument(help: "The app.")
    var app: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.resetFailed(app: try client.resolve(app)))
        if output.json { console.write(Report.json(reply)) }
        return 0
    }
}
