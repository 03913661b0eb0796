import ArgumentParser
import GreenroomControl

struct Prepare: Verb {
    static let configuration = CommandConfiguration(
        commandName: "prepare",
        abstract: "Say that an app will be launched soon.",
        discussion: """
            A hint for launchers, given when a finger is down on the icon: an instance is prewarmed now, \
            if memory, load, battery and temperature allow. Returns at once; an instance that nobody \
            launches within half a minute goes again. "greenroomctl explain" says what holds it back.
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
