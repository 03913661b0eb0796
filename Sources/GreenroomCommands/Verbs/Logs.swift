import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest

/// Shows what apps wrote and what happened to them, both from the journal. This is not a ``Verb``,
/// because the journal does not need the daemon.
struct Logs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show what apps wrote and what happened to them, from the journal.",
        discussion: "Runs journalctl, with its pager and under its rules of access.")

    @Argument(help: "The apps. Default: all.", completion: Candidates.apps)
    var apps: [String] = []

    /// How many lines, in the words of journalctl: a number, or all.
    struct Lines: ExpressibleByArgument {
        let word: String

        init?(argument: String) {
            guard argument == "all" || UInt(argument) != nil else { return nil }
            word = argument
        }
    }

    @Flag(name: .shortAndLong, help: "Show new lines as they come, until interrupted.")
    var follow = false

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Show only this many lines, the latest; or \"all\".", valueName: "number"))
    var lines: Lines?

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

    @Flag(name: .shortAndLong, help: "Show the latest lines first.")
    var reverse = false

    @Flag(name: [.customShort("e"), .long], help: "Begin at the end, in the pager.")
    var pagerEnd = false

    @Flag(name: [.customShort("x"), .long], help: "Add explanations from the message catalog.")
    var catalog = false

    @Flag(help: "Show only what Greenroom says of the apps, with explanations from the catalog.")
    var events = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "How lines look, as for journalctl: short, cat, json.", valueName: "mode"))
    var output: String?

    @Flag(help: "Print JSON, an object a line (systemd.journal-fields(7)).")
    var json = false

    @Flag(help: "Show the text without a pager.")
    var noPager = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let console = StandardConsole()
        let path = daemon.path
        guard let program = Journal.program else {
            console.complain(
                "there is no journalctl: without systemd, what apps write goes to greenroomd's own "
                    + "standard error")
            throw ExitCode(1)
        }
        do throws(Failure) {
            var names: [String] = []
            for app in apps { names += try resolved(app, path) }
            let words = arguments(for: names, isUsers: SocketPath.isUsers(path))
            do throws(SystemError) {
                try OwnProgram.execute(program, words)
            } catch { throw .system(error) }
        } catch {
            console.complain(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// Resolves a short name or a pattern: by the daemon, or by the manifests if none answers. An app
    /// that was removed still has logs, so an unknown name is taken as it is.
    func resolved(_ word: String, _ path: String) throws(Failure) -> [String] {
        let isPattern = AppPattern.isPattern(word)
        guard isPattern || !word.contains(".") else { return [word] }
        if let client = try? ControlClient(path: path) {
            let apps = try client.apps(meantBy: word) { _ in true }
            if apps.isEmpty { throw .control(.noSuchApp(word, suggestion: nil)) }
            return apps
        }
        let manifests = try InstalledManifests(daemon)
        guard isPattern else { return [try Self.identifier(of: word, among: manifests)] }
        let apps = manifests.folders.names.map(\.identifier).filter {
            AppPattern.matches(word, $0)
        }
        if apps.isEmpty { throw .control(.noSuchApp(word, suggestion: nil)) }
        return apps
    }

    static func identifier(
        of app: String, among manifests: InstalledManifests
    ) throws(Failure) -> String {
        do throws(Failure) { return try manifests.name(app).identifier } catch {
            guard case .manifest = error else { throw error }
            return app
        }
    }

    /// The arguments of journalctl(1), in which matches of one field are alternatives, and `+`
    /// joins alternatives of any kind.
    func arguments(for apps: [String], isUsers: Bool) -> [String] {
        var words = ["journalctl"]
        if isUsers { words.append("--user") }
        if follow { words.append("--follow") }
        if let lines { words.append("--lines=\(lines.word)") }
        if let since { words.append("--since=\(since)") }
        if let until { words.append("--until=\(until)") }
        if let priority { words.append("--priority=\(priority)") }
        if let boot { words.append("--boot=\(boot)") }
        if reverse { words.append("--reverse") }
        if pagerEnd { words.append("--pager-end") }
        if noPager { words.append("--no-pager") }
        if let mode = json ? "json" : output { words.append("--output=\(mode)") }
        if catalog || events { words.append("--catalog") }
        guard !apps.isEmpty else {
            let field = isUsers ? "_SYSTEMD_USER_UNIT" : "_SYSTEMD_UNIT"
            let units = events ? ["greenroomd"] : ["greenroomd", "greenroom-apps"]
            return words + units.map { "\(field)=\($0).service" }
        }
        let about = apps.map { "GREENROOM_APP=\($0)" }
        return events
            ? words + about : words + apps.map { "SYSLOG_IDENTIFIER=\($0)" } + ["+"] + about
    }
}
