import AppFolders
import ArgumentParser
import Glibc
import GreenroomLinux

/// The command line of greenroom-conformance, which is a program of its own because greenroomctl is
/// made to start fast.
struct Conformance: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Check that an app follows the rules of the app channel.",
        usage: """
            greenroomctl conformance [--only <number>]... [--timeout <seconds>] [--show-output] \
            -- <command> [<argument>...]
            greenroomctl conformance --list
            """,
        discussion: """
            Speaks the channel as the daemon does; needs no daemon. Each check starts the command \
            again, prewarmed or cold. Prints TAP; exit code 1 if a check fails.

            Checks of features that the app does not use are skipped. For the checks of background \
            tasks and scheduled work, the app must begin a task when it is opened with the URL \
            conformance:begin, and submit a request with conformance:submit.
            """)

    @Argument(
        parsing: .postTerminator, help: "The app's command line, after \"--\".",
        completion: .file())
    var command: [String] = []

    @Option(
        help: ArgumentHelp("Run only this check; may be repeated.", valueName: "number"))
    var only: [Int] = []

    @Option(
        help: ArgumentHelp(
            "How long the app may take for each answer. Default: 10.", valueName: "seconds"))
    var timeout: Int32 = 10

    @Flag(help: "Show what the app writes, on standard error.")
    var showOutput = false

    @Flag(help: "Print the checks and do nothing.")
    var list = false

    func run() throws {
        Caller.fillStandardDescriptors()
        do {
            let program = try HelperProgram.find("greenroom-conformance")
            try OwnProgram.execute(program, [program] + words)
        } catch {
            StandardConsole().complain("\(error)")
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }

    private var words: [String] {
        only.flatMap { ["--only", String($0)] } + ["--timeout", String(timeout)]
            + (showOutput ? ["--show-output"] : []) + (list ? ["--list"] : []) + ["--"] + command
    }
}
