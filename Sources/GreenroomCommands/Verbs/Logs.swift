import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux

/// What an app wrote and what happened to it, both of which the journal has. Not ``Verb``: the
/// journal is there whether or not the daemon is.
struct Logs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show what an app wrote and what happened to it, from the journal.",
        discussion: "Runs journalctl, with its pager and under its rules of access.")

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Flag(name: .shortAndLong, help: "Show what is new as it comes, until interrupted.")
    var follow = false

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("Only the last lines, so many of them.", valueName: "number"))
    var lines: UInt?

    // What begins with a hyphen is a value too: "--since -1h", "--boot -1".
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Not before this time, as in systemd.time(7).", valueName: "time"))
    var since: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Not after this time.", valueName: "time"))
    var until: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("At least this urgent: 0 to 7, or emerg to debug.", valueName: "level"))
    var priority: String?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp(
            "Of this boot: 0 is the current one, -1 the one before.", valueName: "id"))
    var boot: String?

    @Flag(help: "Only what Greenroom says of it, with explanations from the message catalog.")
    var events = false

    @Flag(help: "Print JSON, an object a line (systemd.journal-fields(7)).")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let console = StandardConsole()
        let path = SocketPath.find(option: daemon.socket)
        let places = ["/usr/bin/journalctl", "/bin/journalctl"]
        guard let program = places.first(where: { unsafe access($0, X_OK) == 0 }) else {
            console.complain(
                "there is no journalctl: without systemd, what apps write goes to greenroomd's own "
                    + "standard error")
            throw ExitCode(1)
        }
        do throws(Failure) {
            let words = arguments(for: try resolved(path), isUsers: path != SocketPath.system)
            do throws(SystemError) {
                try OwnProgram.execute(program, words)
            } catch { throw .system(error) }
        } catch {
            console.complain(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// A short name is looked up if the daemon is there to ask; a removed app has logs all the same.
    private func resolved(_ path: String) throws(Failure) -> String {
        guard !app.contains("."), let client = try? ControlClient(path: path) else { return app }
        return try client.resolve(app)
    }

    /// journalctl(1): matches of different fields joined by `+` are alternatives.
    func arguments(for app: String, isUsers: Bool) -> [String] {
        var words = ["journalctl"]
        if isUsers { words.append("--user") }
        if follow { words.append("--follow") }
        if let lines { words.append("--lines=\(lines)") }
        if let since { words.append("--since=\(since)") }
        if let until { words.append("--until=\(until)") }
        if let priority { words.append("--priority=\(priority)") }
        if let boot { words.append("--boot=\(boot)") }
        if json { words.append("--output=json") }
        if events { return words + ["--catalog", "GREENROOM_APP=\(app)"] }
        return words + ["SYSLOG_IDENTIFIER=\(app)", "+", "GREENROOM_APP=\(app)"]
    }
}
