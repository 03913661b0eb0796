import AppFolders
import Glibc
import GreenroomLinux

/// Where a desktop program is measured: a screen, a message bus, a home, and folders for temporary
/// files, which are removed with this object. Nothing that the program does there is seen in the
/// session.
final class WindowGround {
    let screen: any HeadlessScreen
    let empty: [UInt8]
    let bus: PrivateBus
    let variables: [String]
    private let folder: String
    private let contacts: ContactNotes

    /// The programs that every measurement of windows needs, with their packages in Debian.
    private static let needs =
        PrivateBus.programs.map { ($0, "dbus") } + [("setpriv", "util-linux")]

    static func path(of program: String) -> String? {
        let searchPath = Caller.variables["PATH"] ?? ExecutableInspection.defaultSearchPath
        return try? ExecutableInspection.find(program, in: searchPath)
    }

    /// - Parameter kind: a kind whose programs are installed.
    init(
        for program: WindowProgram, on kind: ScreenKind, clock: SampleClock
    ) throws(Failure) {
        var paths: [String] = []
        for (name, package) in Self.needs {
            guard let path = Self.path(of: name) else {
                throw WindowProgram.refusal(
                    "a window is measured beside a message bus of its own, which needs \(name); "
                        + "install it (in Debian, apt install \(package))")
            }
            paths.append(path)
        }
        let account = program.account
        let isOthers = account.user != getuid()
        folder = try PrivateDaemon.makeFolder()
        var started: PrivateBus?
        do throws(Failure) {
            for name in ["home", "runtime", "temporary"] {
                unsafe _ = mkdir("\(folder)/\(name)", 0o700)
            }
            try Self.copySettings(of: program, to: folder + "/home", clock)
            do throws(SystemError) {
                contacts = try ContactNotes(in: folder + "/runtime")
                try PrivateBus.configure(in: folder)
                switch kind {
                case .x11: try XScreen.configure(in: folder)
                case .wayland: try WaylandScreen.configure(in: folder)
                }
                if isOthers { try Self.give(folder, to: account) }
            } catch {
                throw .system(error)
            }
            let prefix =
                [paths[2], "--pdeathsig", "KILL", "--no-new-privs"]
                + (isOthers
                    ? [
                        "--reuid=\(account.user)", "--regid=\(account.group)", "--clear-groups",
                        "--inh-caps=-all",
                    ] : []) + ["--"]
            bus = try PrivateBus(Array(paths[0...1]), prefix, in: folder, clock: clock)
            started = bus
            let programs = kind.needs.map { Self.path(of: $0.program) ?? $0.program }
            screen =
                switch kind {
                case .x11: try XScreen(programs[0], prefix, in: folder, clock: clock)
                case .wayland:
                    try WaylandScreen(
                        programs, prefix, in: folder, runtime: folder + "/runtime", clock: clock)
                }
            do throws(Failure) { empty = try screen.picture() } catch {
                screen.end()
                throw error
            }
        } catch {
            // `deinit` is not called if the initializer throws before every member is set.
            started?.end()
            Caller.remove(folder)
            throw error
        }
        variables =
            screen.variables + [
                "HOME=\(folder)/home", "XDG_RUNTIME_DIR=\(folder)/runtime",
                "TMPDIR=\(folder)/temporary",
                "XDG_CONFIG_HOME=\(folder)/home/.config", "XDG_CACHE_HOME=\(folder)/home/.cache",
                "XDG_DATA_HOME=\(folder)/home/.local/share",
                "XDG_STATE_HOME=\(folder)/home/.local/state",
                "DBUS_SESSION_BUS_ADDRESS=\(bus.address)", "NO_AT_BRIDGE=1", "SESSION_MANAGER=",
            ]
    }

    /// Whether the screen shows nothing, and there is no window.
    func isEmpty() throws(Failure) -> Bool {
        if try screen.showsWindow() { return false }
        return try !screen.differs(from: empty)
    }

    deinit {
        // The servers write into the folder until they have ended.
        screen.end()
        bus.end()
        Caller.remove(folder)
    }

    /// These settings of toolkits and desktops are copied beside the program's own. Copying a whole
    /// home, with mail and browser profiles, would take long and expose it to a trial.
    private static let sharedSettings = [
        "dconf", "fontconfig", "gtk-2.0", "gtk-3.0", "gtk-4.0", "kdeglobals", "Kvantum", "lxqt",
        "qt5ct", "qt6ct", "Trolltech.conf", "xfce4", "user-dirs.dirs", "user-dirs.locale",
    ]

    private static func copySettings(
        of program: WindowProgram, to home: String, _ clock: SampleClock
    ) throws(Failure) {
        unsafe _ = mkdir(home + "/.config", 0o700)
        // Another user could have root read any file by putting a link in the place of a folder.
        guard program.account.user == getuid(),
            let own = SearchPath.configurationHome(Caller.variables),
            let names = try? FolderContents.names(in: own)
        else { return }
        let file = program.command[0].split(separator: "/").last.map(String.init) ?? ""
        let copied = names.filter {
            sharedSettings.contains($0) || $0 == program.identifier
                || [file, file + "rc", file + ".conf"].contains($0)
        }
        try SettingsCopy.make(of: copied.map { "\(own)/\($0)" }, in: home + "/.config", clock)
    }

    /// Gives the folder to the user whose program is measured. It stays closed to everybody else
    /// but root.
    private static func give(_ folder: String, to account: Account) throws(SystemError) {
        let status = Caller.run(
            "/bin/chown",
            ["chown", "-R", "--", "\(account.user):\(account.group)", folder], isQuiet: true)
        guard status == 0 else {
            throw SystemError(code: EPERM, call: "chown", subject: folder)
        }
    }

    // MARK: What a program does

    struct State {
        var files: FilesBelow
        /// By the variables that name their folders.
        var temporaryFiles: [String: FilesBelow]
        var names: Set<String>
        var contacts: Set<String>
    }

    func state() throws(Failure) -> State {
        State(
            files: FilesBelow(folder + "/home"),
            temporaryFiles: [
                "$XDG_RUNTIME_DIR": FilesBelow(folder + "/runtime"),
                "$TMPDIR": FilesBelow(folder + "/temporary"),
            ], names: try bus.names(), contacts: contacts.lines())
    }

    /// What has changed since that state, and the network connections of a process.
    func effects(since before: State, of process: Int32?) throws(Failure) -> SideEffects {
        let now = try state()
        let temporaryFiles = now.temporaryFiles.flatMap { name, files in
            files.changes(since: before.temporaryFiles[name] ?? files).map { "\(name)/\($0)" }
        }.filter { $0 != "$XDG_RUNTIME_DIR/" + ContactNotes.name }
        let connections = process.map(NetworkUse.ofInstance) ?? []
        return SideEffects(
            files: now.files.changes(since: before.files),
            areFilesComplete: before.files.isComplete && now.files.isComplete,
            temporaryFiles: temporaryFiles.sorted(),
            names: now.names.subtracting(before.names).sorted(),
            connections: now.contacts.subtracting(before.contacts).union(connections).sorted())
    }
}
