import ArgumentParser
import GreenroomControl

struct Action: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "action",
        abstract: "Perform a quick action of an app.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "The action's name, one of QuickActions= in the manifest.") var name: String
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .performAction(app: try client.resolve(app), action: name, isBackground: false)
    }
}
