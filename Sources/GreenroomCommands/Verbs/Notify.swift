import ArgumentParser
import GreenroomControl

struct NotifyApp: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Deliver a remote notification to an app.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "The payload, usually JSON.") var payload: String
    @Option(
        help: ArgumentHelp(
            "The action that the user chose. The app then comes to the foreground.",
            valueName: "identifier"))
    var response: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .notify(app: try client.resolve(app), payload: payload, response: response)
    }
}
