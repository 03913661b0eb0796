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
            try Self.copySettings(of: program, to: folder + "/home")
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
            _ = Caller.run("/bin/rm", ["rm", "-rf", "--", folder], isQuiet: true)
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
        _ = Caller.run("/bin/rm", ["rm", "-rf", "--", folder], isQuiet: true)
    }

    /// These settings of toolkits and desktops are copied beside the program's own. Copying a whole
    /// home, with mail and browser profiles, would take long and expose it to a trial.
    private static let sharedSettings = [
        "dconf", "fontconfig", "gtk-2.0", "gtk-3.0", "gtk-4.0", "kdeglobals", "Kvantum", "lxqt",
        "qt5ct", "qt6ct", "Trolltech.conf", "xfce4", "user-dirs.dirs", "user-dirs.locale",
    ]

    private static let settingsByteLimit = 64 << 20
    private static let settingsFileLimit = 10_000
    private static let settingsDepthLimit = 16

    /// Adds the size of the file or folder at the path, following links. Returns whether the sum is
    /// within the limits.
    private static func count(
        _ path: String, depth: Int, _ sum: inout (bytes: Int, files: Int)
    ) -> Bool {
        // The target of a link may not exist.
        guard let status = FileStatus(path: path) else { return true }
        sum.files += 1
        if status.kind == .file { sum.bytes += Int(status.identity.byteCount) }
        guard sum.bytes <= settingsByteLimit, sum.files <= settingsFileLimit,
            depth <= settingsDepthLimit
        else { return false }
        guard status.kind == .folder else { return true }
        return ((try? FolderContents.names(in: path)) ?? []).allSatisfy {
            $0 == "." || $0 == ".." || count(path + "/" + $0, depth: depth + 1, &sum)
        }
    }

    private static func copySettings(
        of program: WindowProgram, to home: String
    ) throws(Failure) {
        unsafe _ = mkdir(home + "/.config", 0o700)
        // Another user could have root read any file by putting a link in the place of a folder.
        guard program.account.user == getuid(),
            let own = SearchPath.configurationHome(Caller.variables),
            let names = try? FolderContents.names(in: own)
        else { return }
        var sum = (bytes: 0, files: 0)
        let file = program.command[0].split(separator: "/").last.map(String.init) ?? ""
        for name in names
        where sharedSettings.contains(name) || name == program.identifier
            || [file, file + "rc", file + ".conf"].contains(name)
        {
            guard count("\(own)/\(name)", depth: 0, &sum) else {
                throw WindowProgram.refusal(
                    "a copy of its settings would be larger than 64 MB or \(settingsFileLimit) files, "
                        + "or \(own)/\(name) has a link to a folder above it; move what is large out of "
                        + "there, or set XDG_CONFIG_HOME to a folder without it")
            }
            // Links are replaced by copies, because the trial would change their targets.
            _ = Caller.run(
                "/bin/cp",
                [
                    "cp", "-RL", "--preserve=mode,timestamps", "--", "\(own)/\(name)",
                    home + "/.config/",
                ], isQuiet: true)
        }
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
        var files: [String: FileIdentity]
        var names: Set<String>
    }

    func state() throws(Failure) -> State {
        var files: [String: FileIdentity] = [:]
        collect("", depth: 0, &files)
        return State(files: files, names: try bus.names())
    }

    /// What has changed since that state, and the network connections of a process.
    func effects(since before: State, of process: Int32?) throws(Failure) -> SideEffects {
        let now = try state()
        return SideEffects(
            files: now.files.filter { before.files[$0.key] != $0.value }.keys.sorted(),
            names: now.names.subtracting(before.names).sorted(),
            connections: process.map(NetworkUse.ofInstance) ?? [])
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static let depthLimit = 8
    private static let fileLimit = 10_000

    private func collect(_ relative: String, depth: Int, _ files: inout [String: FileIdentity]) {
        for name in (try? FolderContents.names(in: home + "/" + relative)) ?? []
        where name != "." && name != ".." && files.count < Self.fileLimit {
            let path = relative + name
            var status = stat()
            guard unsafe lstat(home + "/" + path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.depthLimit { collect(path + "/", depth: depth + 1, &files) }
            } else {
                files[path] = FileIdentity(
                    device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
                    byteCount: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
                    changed: Self.nanoseconds(status.st_ctim))
            }
        }
    }
}

/// What a program has done before its window.
struct SideEffects: Hashable {
    /// Files in its home, relative to the home.
    var files: [String] = []
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
