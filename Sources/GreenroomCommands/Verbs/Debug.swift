import ArgumentParser
import GreenroomControl

struct Debug: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "debug",
        abstract: "Test what the daemon does in rare situations (administrators).",
        subcommands: [DebugPressure.self, DebugRunTask.self, DebugExpireTask.self])
}

struct DebugPressure: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pressure",
        abstract: "Report memory pressure as the kernel would.",
        discussion: """
            Apps are warned and memory is taken back for real, one step for each report. The level \
            falls by itself (PressureQuietSec= of greenroom.conf), or at once if you report \
            "none". "greenroomctl watch" shows what follows.
            """)

    enum Level: String, ExpressibleByArgument, CaseIterable {
        case none, warning, critical
    }

    @Argument(help: "none, warning or critical.")
    var level: Level

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let level = Control.MemoryPressure(rawValue: level.rawValue)!
        let reply = try client.call(.debugPressure(level))
        if output.json { console.write(Report.json(reply)) }
        return 0
    }
}
