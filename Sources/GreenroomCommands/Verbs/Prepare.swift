import ArgumentParser
import GreenroomControl

struct Prepare: Verb {
    static let configuration = CommandConfiguration(
        commandName: "prepare",
        abstract: "Say that an app will be launched soon.",
        discussion: """
            A hint that a launcher gives when a finger touches the icon: an instance is prewarmed \
            now, if memory, load, battery and temperature allow. Returns at once. An instance that \
            nobody launches within half a minute ends. "greenroomctl explain" says what prevents \
            prewarming.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.prepare(app: try client.resolve(app)))
        if output.json { console.write(Report.json(reply)) }
        return 0
    }
}
