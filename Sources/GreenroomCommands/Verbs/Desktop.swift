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
        subcommands: [
            DesktopEnable.self, DesktopDisable.self, DesktopRefresh.self, DesktopRun.self,
        ])
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
            longer installed, the app is started directly. A copy shows the entry as it is now; "desktop refresh" \
            copies entries again that have changed. An app that the message bus starts \
            (DBusActivatable=true) also gets a service file, so that calls by its name come to the daemon.
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
        try client.requireOwn()
        guard case .listed(let own) = try client.call(.list) else { return 1 }
        let known =
            own.map { ($0, client) }
            + client.systemsApps(besides: own).map { ($0, client.system ?? client) }
        var changes = FileChanges()
        var code: Int32 = 0
        if all {
            place.copies.refresh(&changes, console)
            for (app, daemon) in known where app.desktop?.isShown == true {
                do throws(Failure) { try enable(app, of: daemon, &changes, console) } catch {
                    console.complain("left as it is: \(error.description)")
                }
            }
        } else {
            code = forEach(apps, client, console) { name throws(Failure) in
                guard let (app, daemon) = known.first(where: { $0.0.identifier == name }) else {
                    throw .control(.noSuchApp(name, suggestion: nil))
                }
                try enable(app, of: daemon, &changes, console)
            }
        }
        place.copies.services.tellBus(changes, console)
        if code == 0 || !changes.changes.isEmpty { changes.report(console, json: output.json) }
        return code
    }

    private func enable(
        _ app: Control.AppSummary, of daemon: ControlClient, _ changes: inout FileChanges,
        _ console: any Console
    ) throws(Failure) {
        guard let entry = app.desktop else {
            throw .refused(
                "no_desktop_entry",
                "\(app.identifier) has no desktop entry, so no launcher shows it")
        }
        try place.copies.write(app.identifier, of: entry.file, &changes)
        let services = place.copies.services
        guard entry.isDBusActivatable else {
            return try services.remove(app.identifier, &changes)
        }
        // Launchers start the app through the daemon all the same.
        do throws(Failure) {
            try services.write(app.identifier, socket: daemon.path, &changes)
        } catch {
            console.complain(
                "callers that name \(app.identifier) on the message bus do not come by the daemon: "
                    + error.description)
        }
    }
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
        for app in all ? enabled : apps {
            do throws(Failure) { try disable(app, &changes, console) } catch {
                console.complain(error.description)
                code = error.exitCode
            }
        }
        place.copies.services.tellBus(changes, console)
        if code == 0 || !changes.changes.isEmpty { changes.report(console, json: output.json) }
        return code
    }

    /// Somebody may have removed only one of an app's files.
    private var enabled: [String] {
        Set(place.copies.apps + place.copies.services.apps).sorted()
    }

    private func disable(
        _ name: String, _ changes: inout FileChanges, _ console: any Console
    ) throws(Failure) {
        let identifiers = AppNames.identifiers(meantBy: name, among: enabled)
        guard identifiers.count <= 1 else { throw .ambiguous(name, identifiers) }
        guard let app = identifiers.first else {
            throw .refused("not_enabled", "\(name) is not enabled in \(place.copies.entries)")
        }
        let services = place.copies.services
        try services.remove(app, &changes)
        try place.copies.remove(app, &changes)
        if services.isOfDBusService(app) {
            console.complain(
                "callers that name \(app) on the message bus still come by the daemon; "
                    + "\"greenroomctl dbus-service \(app) --remove\" ends that")
        }
    }
}

struct DesktopRefresh: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Copy entries again that have changed. This needs no daemon.",
        usage: "greenroomctl desktop refresh [--directory <dir>] [--json]",
        discussion: """
            Writes the copies of entries that have changed since, and removes the copies of entries that \
            are gone. Service files that "enable" wrote follow them. For your own copies, "greenroomctl \
            reload" does this too, and so does your service (greenroomd.service) when it starts and reloads.
            """)

    @OptionGroup var place: DesktopPlace
    @OptionGroup var output: OutputOptions

    mutating func run() throws {
        Caller.fillStandardDescriptors()
        let console = StandardConsole()
        var changes = FileChanges()
        place.copies.refresh(&changes, console)
        changes.report(console, json: output.json)
    }
}

/// The command in the copies of desktop entries. It runs the app through the daemon if the daemon
/// can be reached, has the app and does not refuse it, otherwise the command of the original entry.
/// A manifest may confine its app, or be masked, so the refusal of such an app is an error.
struct DesktopRun: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run an app, or its command if the daemon cannot.",
        shouldDisplay: false)

    @Argument var app: String
    /// How many words come before the files to open, and after them.
    @Option var before: Int
    @Option var after: Int

    mutating func run() throws {
        // The parser gets no words after "--" (`CommandWords.own`).
        var words = Array(CommandWords.behindTerminator)
        guard before > 0, after >= 0, before + after <= words.count else {
            throw ValidationError("The command has fewer words.")
        }
        let console = StandardConsole()
        let isConfined: Bool
        var socket: String?
        switch knownApp(for: words[0].shown) {
        case .app(let app, let answered, let isOfLink):
            isConfined = app.manifestFile != nil
            socket = answered
            // After a refusal, the link would ask for the same app again.
            if isOfLink, let program = ProgramSearch(words[0].shown).next {
                words[0] = .text(program)
            }
        case .notAnswered(let silent):
            isConfined = true
            socket = silent
        case .none: throw ExitCode(Caller.execute(words, console))
        }
        let code: Int32
        do throws(Failure) {
            let program = try HelperProgram.find("greenroom-run")
            let options =
                (isFromMenu ? [AttachedRun.launchOption] : [])
                + (isConfined ? [AttachedRun.confinedOption] : [])
                + (socket.map { ["--socket", $0] } ?? [])
                + [AttachedRun.elseOption, "\(before):\(after)", "--"]
            code = Caller.execute(
                ["greenroom-run", .text(self.app)] + options.map(ByteString.text) + words,
                at: program, console)
        } catch {
            console.complain(error.description)
            code = error.attachedExitCode
        }
        throw ExitCode(isConfined ? code : Caller.execute(words, console))
    }

    /// Whether somebody on a display has started the entry. A script without a display runs it as
    /// any program.
    private var isFromMenu: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { Caller.variables[$0] != nil }
            && LauncherStreams.areReplaceable
    }

    /// How long a daemon may take to answer, in milliseconds. The user waits for the app.
    private static let patience: CInt = 2000

    /// The app of a daemon, also one whose manifest was refused or masked. None if its program is not
    /// the one that the command means here: the daemon may have found another one in its own PATH.
    /// The program in a manifest is meant anyway.
    private func knownApp(for command: String) -> KnownApp {
        let first = SocketPath.find(option: nil)
        let second = SocketPath.second(after: first)
        for path in [first, second].compactMap(\.self) {
            guard let daemon = try? ControlClient(path: path) else { continue }
            // greenroom-run would ask the user's daemon first, which may not answer.
            let socket = path == first ? nil : path
            guard case .listed(let apps)? = try? daemon.call(.listAll, milliseconds: Self.patience)
            else {
                if hasManifest(forDaemonAt: path, isOnly: second == nil) {
                    return .notAnswered(socket: socket)
                }
                continue
            }
            let known = apps.first {
                $0.identifier == app && $0.refusal?.code != Control.Note.ofSystem
            }
            guard let app = known else { continue }
            let answer = KnownApp.app(app, socket: socket, isOfLink: false)
            guard app.manifestFile == nil, let program = app.program else { return answer }
            let path = Caller.variables["PATH"] ?? ExecutableInspection.defaultSearchPath
            // A copy of an older entry may name a program that is gone, which only the daemon's
            // command can replace.
            guard let found = try? ExecutableInspection.find(command, in: path) else {
                return answer
            }
            // A link of ours asks for the app by its program's name. If it means another app, only
            // the daemon may start that one.
            if LinkedRun.isOurselves(found) {
                let name = AppNames.lastComponent(of: command, after: "/") ?? command
                let meant = AppNames.apps(called: name, among: apps).map(\.identifier)
                return .app(app, socket: socket, isOfLink: meant == [app.identifier])
            }
            if FileIdentity(path: found) == FileIdentity(path: program) { return answer }
        }
        return .none
    }

    private enum KnownApp {
        /// - socket: that of the daemon that has the app; nil for the first daemon.
        /// - isOfLink: whether the command is a link of ours that means this app, which has no
        ///   manifest.
        case app(Control.AppSummary, socket: String?, isOfLink: Bool)
        /// A daemon that would find a manifest of the app does not say what it has.
        case notAnswered(socket: String?)
        /// No daemon that answers has the app.
        case none
    }

    /// Whether the daemon would find a manifest of the app. The folders of an only daemon are not
    /// known, because a variable may name it.
    private func hasManifest(forDaemonAt path: String, isOnly: Bool) -> Bool {
        [true, false].contains { isRoot in
            (isOnly || isRoot == (path == SocketPath.system))
                && AppFolders.haveManifest(of: app, isRoot: isRoot, Caller.variables)
        }
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

    var copies: DesktopCopies { directory.map(DesktopCopies.init(entries:)) ?? .own }

    mutating func validate() throws {
        guard directory?.hasPrefix("/") ?? true else {
            throw ValidationError("--directory takes an absolute path.")
        }
    }
}
