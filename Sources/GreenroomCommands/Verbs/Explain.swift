import ArgumentParser
import GreenroomControl

struct Explain: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why an app is or is not prewarmed, and how its last launch went.")

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.explain(app: try client.resolve(app)))
        guard case .explained(let explanation) = reply else { return 1 }
        console.write(
            output.json
                ? Report.json(reply)
                : Report.explanation(explanation, display.appearance(on: console)))
        return 0
    }
}
