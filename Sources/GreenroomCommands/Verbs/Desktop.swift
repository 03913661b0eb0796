import AppFolders
import ArgumentParser
import DesktopEntry
import Glibc
import GreenroomControl
import GreenroomLinux

struct Desktop: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Let menus and file managers start apps through the daemon.",
        subcommands: [DesktopEnable.self, DesktopDisable.self, DesktopRun.self])
}

struct DesktopEnable: Verb {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make launchers start apps through the daemon.",
        usage: """
            greenroomctl desktop enable <app>... [--directory <dir>] [--json] [--socket <path>]
            greenroomctl desktop enable --all [--directory <dir>] [--json] [--socket <path>]
            """,
        discussion: """
            Puts a copy of the app's desktop entry into your own folder, where it takes precedence. Every \
            launcher (a menu, a file manager, gio launch) then starts the app through the daemon, with the \
            launcher's environment and working directory. If the daemon does not run, or Greenroom is no \
            longer installed, the app is started directly. A copy shows the entry as it is now; enable the app \
            again after its name, icon or types have changed.
            """)

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String] = []

    @Flag(help: "All apps that menus show. Those that cannot be enabled are named.")
    var all = false

    @OptionGroup var place: DesktopPlace
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws {
        guard apps.isEmpty == all else { throw ValidationError("Name apps, or say --all.") }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        guard case .listed(let own) = try client.call(.list) else { return 1 }
        let known = own + client.systemsApps(besides: own)
        var changes = FileChanges()
        var code: Int32 = 0
        if all {
            for app in known where app.desktop?.isShown == true {
                do throws(Failure) { try enable(app, &changes) } catch {
                    console.complain("left as it is: \(error.description)")
                }
            }
        } else {
            code = forEach(apps, client, console) { name throws(Failure) in
                guard let app = known.first(where: { $0.identifier == name }) else {
                    throw .control(.noSuchApp(name, suggestion: nil))
                }
                try enable(app, &changes)
            }
        }
        if code == 0 || !changes.changes.isEmpty { changes.report(console, json: output.json) }
        return code
    }

    private func enable(
        _ app: Control.AppSummary, _ changes: inout FileChanges
    ) throws(Failure) {
        let identifier = app.identifier
        guard let file = app.desktop?.file else {
            throw .refused(
                "no_desktop_entry", "\(identifier) has no desktop entry, so no launcher shows it")
        }
        let link = place.link(of: identifier)
        guard FileStatus(path: link) == nil || DesktopFolders.isRedirection(link) else {
            throw .manifest(.inTheWay(link))
        }
        let copy = place.copy(of: identifier)
        let text = try text(identifier, file)
        let folders = (place.entries, place.copies)
        let isLinked = try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(folders.0)
            try AppFolderChange.makeFolder(folders.1)
            try AppFolderChange.write(Array(text.utf8), to: copy + ".new")
            try AppFolderChange.install(copy + ".new", as: copy)
            return try AppFolderChange.link(link, to: copy)
        }
        changes.add(.written, copy)
        if isLinked { changes.add(.linked, link, to: copy) }
    }

    private func text(_ identifier: String, _ file: String) throws(Failure) -> String {
        let redirection: Redirection
        let bytes: [UInt8]
        do {
            bytes = try DesktopFolders.bytes(of: file)
            guard
                let entry = try DesktopEntry.parse(
                    bytes, identifier: identifier, file: file,
                    locale: Locale(environment: [:]))
            else { throw Redirection.Refusal.hasNoCommand }
            redirection = try Redirection(of: entry)
        } catch let error as SystemError {
            throw .system(error)
        } catch let mistake as DesktopEntry.Mistake {
            throw .refused("bad_entry", "\(file):\(mistake.line): \(mistake.message)")
        } catch Redirection.Refusal.hasNoCommand {
            throw .refused(
                "no_command",
                "\(file) has no Exec=, so the app is started only over D-Bus; "
                    + "see \"greenroomctl dbus-service\"")
        } catch {
            throw .refused(
                "files_in_word",
                "the Exec= of \(file) has the files to open inside a longer word")
        }
        let note = "\(Self.mark) \(identifier) removes this copy and keeps \(file)."
        let own = try HelperProgram.find("greenroomctl")
        let words = [
            own, "desktop", "run", identifier, "--before", "\(redirection.before)", "--after",
            "\(redirection.after)", "--",
        ]
        guard let text = redirection.text(bytes, note: note, through: words) else {
            throw .refused("bad_entry", "the Exec= of \(file) cannot be written again")
        }
        return text
    }

    private static let mark = "Written by greenroomctl; greenroomctl desktop disable"
}

struct DesktopDisable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Undo enable. This needs no daemon.",
        usage: """
            greenroomctl desktop disable <app>... [--directory <dir>] [--json]
            greenroomctl desktop disable --all [--directory <dir>] [--json]
            """)

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String] = []

    @Flag(help: "All apps that were enabled.")
    var all = false

    @OptionGroup var place: DesktopPlace
    @OptionGroup var output: OutputOptions

    mutating func validate() throws {
        guard apps.isEmpty == all else { throw ValidationError("Name apps, or say --all.") }
    }

    mutating func run() throws {
        Caller.fillStandardDescriptors()
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }

    private func execute(_ console: any Console) -> Int32 {
        var changes = FileChanges()
        var code: Int32 = 0
        for app in all ? place.enabled : apps {
            do throws(Failure) { try disable(app, &changes) } catch {
                console.complain(error.description)
                code = error.exitCode
            }
        }
        if code == 0 || !changes.changes.isEmpty { changes.report(console, json: output.json) }
        return code
    }

    private func disable(_ name: String, _ changes: inout FileChanges) throws(Failure) {
        let identifiers = AppNames.identifiers(meantBy: name, among: place.enabled)
        guard identifiers.count <= 1 else { throw .ambiguous(name, identifiers) }
        guard let app = identifiers.first else {
            throw .refused("not_enabled", "\(name) is not enabled in \(place.entries)")
        }
        for path in [place.link(of: app), place.copy(of: app)]
        where AppFolderChange.target(of: path) != nil || FileStatus(path: path) != nil {
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.remove(path)
            }
            changes.add(.removed, path)
        }
    }
}

/// The command in the copies of desktop entries. It runs the app through the daemon if the daemon
/// can be reached and has the app, otherwise the command of the original entry.
struct DesktopRun: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run an app, or its command if the daemon cannot.",
        shouldDisplay: false)

    @Argument var app: String
    /// How many words come before the files to open, and after them.
    @Option var before: Int
    @Option var after: Int
    @Argument(parsing: .postTerminator) var command: [String] = []

    mutating func validate() throws {
        guard before > 0, after >= 0, before + after <= command.count else {
            throw ValidationError("The command has fewer words.")
        }
    }

    mutating func run() throws {
        let words = CommandWords.originals(
            of: command, among: Array(CommandWords.behindTerminator))
        let files = Array(words[before..<words.count - after])
        if isKnown, let program = try? HelperProgram.find("greenroom-run") {
            let options: [ByteString] = isFromMenu ? [.text(AttachedRun.launchOption)] : []
            execute(program, ["greenroom-run", .text(app)] + options + ["--"] + files)
        }
        execute(words[0].shown, words)
        let error = SystemError(code: errno, call: "execve", subject: words[0].shown)
        StandardConsole().complain(error.description)
        throw ExitCode(error.code == ENOENT ? 127 : 126)
    }

    /// Whether somebody on a display has started the entry. A script without a display runs it as
    /// any program.
    private var isFromMenu: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { Caller.variables[$0] != nil }
            && LauncherStreams.areReplaceable
    }

    /// How long a daemon may take to answer, in milliseconds. The user waits for the app.
    private static let patience: CInt = 2000

    /// Whether a daemon has the app.
    private var isKnown: Bool {
        guard let client = try? ControlClient.usual(option: nil) else { return false }
        return [client, client.system].compactMap(\.self).contains { daemon in
            guard let reply = try? daemon.call(.list, milliseconds: Self.patience),
                case .listed(let apps) = reply
            else { return false }
            return apps.contains { $0.identifier == app }
        }
    }

    /// Returns only if it failed. A program without a path is looked for in PATH (execvp(3)).
    private func execute(_ program: String, _ words: [ByteString]) {
        var pointers = unsafe words.map { unsafe $0.copiedCString } + [nil]
        unsafe execvp(program, &pointers)
    }
}

/// Where the copies of entries are, and the links to them.
struct DesktopPlace: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of desktop entries. Default: applications below $XDG_DATA_HOME. For all users: "
                + "/usr/local/share/applications.",
            valueName: "dir"), completion: .directory)
    var directory: String?

    var entries: String {
        directory ?? (SearchPath.dataHome(Caller.variables) ?? "/root/.local/share")
            + "/applications"
    }

    var copies: String {
        let parent = entries.lastIndex(of: "/").map { entries[..<$0] } ?? "."
        return "\(parent)/\(DesktopFolders.redirections)"
    }

    func link(of app: String) -> String { entries + "/" + app + DesktopEntry.fileSuffix }
    func copy(of app: String) -> String { copies + "/" + app + DesktopEntry.fileSuffix }

    /// The apps that are enabled here.
    var enabled: [String] { DesktopFolders.redirected(in: entries) }

    mutating func validate() throws {
        guard directory?.hasPrefix("/") ?? true else {
            throw ValidationError("--directory takes an absolute path.")
        }
    }
}
