import AppFolders
import Glibc
import GreenroomLinux

/// Where a desktop program is measured: a screen, a message bus and a home, which are removed with
/// this object. Nothing that the program does there is seen in the session.
final class WindowGround {
    let screen: any HeadlessScreen
    let empty: [UInt8]
    let bus: PrivateBus
    let variables: [String]
    private let folder: String
    private var home: String { folder + "/home" }

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
            for name in ["home", "runtime"] {
                unsafe _ = mkdir("\(folder)/\(name)", 0o700)
            }
            try Self.copySettings(of: program, to: folder + "/home", clock)
            do throws(SystemError) {
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
        var files: HomeFiles
        var names: Set<String>
    }

    func state() throws(Failure) -> State {
        State(files: HomeFiles(in: home), names: try bus.names())
    }

    /// What has changed since that state, and the network connections of a process.
    func effects(since before: State, of process: Int32?) throws(Failure) -> SideEffects {
        let now = try state()
        return SideEffects(
            files: now.files.changes(since: before.files),
            areFilesComplete: before.files.isComplete && now.files.isComplete,
            names: now.names.subtracting(before.names).sorted(),
            connections: process.map(NetworkUse.ofInstance) ?? [])
    }
}

/// The files in a home, as far as they are looked at.
struct HomeFiles {
    /// More than a copy of settings has (`SettingsCopy`).
    static let depthLimit = 16
    private static let fileLimit = 20_000

    private var files: [String: FileIdentity] = [:]
    /// Whether there are no other files.
    private(set) var isComplete = true

    init(in home: String) { collect(home, "", depth: 0) }

    /// The files that are new or different, relative to the home.
    func changes(since before: Self) -> [String] {
        files.filter { before.files[$0.key] != $0.value }.keys.sorted()
    }

    private mutating func collect(_ home: String, _ relative: String, depth: Int) {
        for name in (try? FolderContents.names(in: home + "/" + relative)) ?? []
        where name != "." && name != ".." {
            guard files.count < Self.fileLimit else {
                isComplete = false
                return
            }
            let path = relative + name
            var status = stat()
            guard unsafe lstat(home + "/" + path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.depthLimit {
                    collect(home, path + "/", depth: depth + 1)
                } else {
                    isComplete = false
                }
            } else {
                files[path] = FileIdentity(
                    device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
                    byteCount: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
                    changed: Self.nanoseconds(status.st_ctim))
            }
        }
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// What a program has done before its window.
struct SideEffects: Hashable {
    /// Files in its home, relative to the home.
    var files: [String] = []
    /// Whether all files were looked at.
    var areFilesComplete = true
    /// Names on the bus of its session.
    var names: [String] = []
    /// Addresses with ports.
    var connections: [String] = []

    /// The files that matter to others: settings and the like, but not caches.
    var visibleFiles: [String] { files.filter { !$0.hasPrefix(".cache/") } }
}

/// The internet sockets of processes (proc(5), /proc/PID/net).
enum NetworkUse {
    /// A held program may have its connections in a process that it has started.
    static func ofInstance(_ process: Int32) -> [String] {
        Set(processes(with: process).flatMap(of)).sorted()
    }

    private static let processLimit = 1000

    /// The processes of its cgroup and below; without a cgroup of its own, the process and its
    /// descendants.
    static func processes(with process: Int32) -> Set<Int32> {
        var found: Set<Int32> = [process]
        if let group = cgroup(of: "\(process)"), let own = cgroup(of: "self"),
            // A cgroup that contains this process contains others as well.
            group != "/", !(own + "/").hasPrefix(group + "/"),
            let mounts = try? SmallFile.text(of: "/proc/self/mountinfo"),
            let mount = try? CgroupLocation.mountPoint(mountinfo: mounts)
        {
            collect(mount + group, depth: 0, &found)
            return found
        }
        var next = [process]
        while let parent = next.popLast(), found.count < processLimit {
            let tasks = "/proc/\(parent)/task"
            for task in (try? FolderContents.names(in: tasks)) ?? [] {
                let text = (try? SmallFile.text(of: "\(tasks)/\(task)/children")) ?? ""
                for child in text.split(whereSeparator: \.isWhitespace).compactMap({ Int32($0) })
                where found.insert(child).inserted { next.append(child) }
            }
        }
        return found
    }

    private static func collect(_ folder: String, depth: Int, _ found: inout Set<Int32>) {
        let text = (try? SmallFile.text(of: folder + "/cgroup.procs")) ?? ""
        found.formUnion(text.split(separator: "\n").compactMap { Int32($0) })
        guard depth < 8, found.count < processLimit else { return }
        for name in (try? FolderContents.names(in: folder)) ?? []
        where name != "." && name != ".." && FileStatus(path: "\(folder)/\(name)")?.kind == .folder
        {
            collect("\(folder)/\(name)", depth: depth + 1, &found)
        }
    }

    private static func cgroup(of process: String) -> String? {
        let text = (try? SmallFile.text(of: "/proc/\(process)/cgroup")) ?? ""
        return CgroupLocation.path(in: text)
    }

    static func of(_ process: Int32) -> [String] {
        let folder = "/proc/\(process)"
        let inodes = Set(
            ((try? FolderContents.names(in: folder + "/fd")) ?? []).compactMap { name -> String? in
                guard let target = AppFolderChange.target(of: "\(folder)/fd/\(name)"),
                    target.hasPrefix("socket:[")
                else { return nil }
                return String(target.dropFirst(8).dropLast())
            })
        var found: Set<String> = []
        for kind in ["tcp", "tcp6", "udp", "udp6"] {
            let text = (try? SmallFile.text(of: "\(folder)/net/\(kind)")) ?? ""
            for line in text.split(separator: "\n").dropFirst() {
                let words = line.split(separator: " ")
                if words.count > 9, inodes.contains(String(words[9])) {
                    found.insert("\(kind) \(words[2])")
                }
            }
        }
        return found.sorted()
    }
}
