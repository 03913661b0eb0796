import ArgumentParser
import GreenroomControl

struct Explain: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why an app is or is not prewarmed, and how its last launch went.",
        aliases: ["show"])

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console) { app throws(Failure) in
            let reply = try client.call(.explain(app: app))
            guard case .explained(let explanation) = reply else { return }
            if output.json { return console.write(Report.json(reply)) }
            console.write(Report.explanation(explanation, display.appearance(on: console)))
            // It comes from another process, for which the rest need not wait.
            let story = DepthStory(of: explanation.app, client)
            if !story.chapters.isEmpty { console.write(Report.depths(story)) }
        }
    }
}
