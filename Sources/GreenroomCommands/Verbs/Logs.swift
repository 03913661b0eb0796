import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux

/// Shows an app's output and what happened to it, both from the journal. This is not a ``Verb``,
/// because the journal does not need the daemon.
struct Logs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show what an app wrote and what happened to it, from the journal.",
        discussion: "Runs journalctl, with its pager and under its rules of access.")

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Flag(name: .shortAndLong, help: "Show new lines as they come, until interrupted.")
    var follow = false

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("Show only this many lines, the latest.", valueName: "number"))
    var lines: UInt?

    // A value may begin with a hyphen: "--since -1h", "--boot -1".
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Show lines from this time on, as in systemd.time(7).", valueName: "time"))
    var since: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show lines up to this time.", valueName: "time"))
    var until: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Show lines that are at least this urgent: 0 to 7, or emerg to debug.",
            valueName: "level"))
    var priority: String?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp(
            "Show lines of this boot: 0 is the current one, -1 the one before.", valueName: "id"))
    var boot: String?

    @Flag(help: "Show only what Greenroom says of the app, with explanations from the catalog.")
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

    /// Resolves a short name if the daemon answers. An app that was removed still has logs.
    private func resolved(_ path: String) throws(Failure) -> String {
        guard !app.contains("."), let client = try? ControlClient(path: path) else { return app }
        return try client.resolve(app)
    }

    /// The arguments of journalctl(1), in which `+` joins matches as alternatives.
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
