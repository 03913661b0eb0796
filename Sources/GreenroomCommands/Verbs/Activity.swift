import ArgumentParser
import GreenroomControl

struct Activity: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "Make an app continue what the user was doing.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "One of UserActivityTypes= in the manifest.") var type: String
    @Option(help: ArgumentHelp("A title to show.", valueName: "text")) var title: String?
    @Option(help: ArgumentHelp("Its web page.", valueName: "url")) var webpage: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .continueActivity(
            app: try client.resolve(app), type: type, title: title, webpageURL: webpage)
    }
}
