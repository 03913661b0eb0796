import AppFolders
import Glibc
import GreenroomLinux

/// Where a desktop program is measured: a screen, a message bus and a home, which go with this object.
/// What the program does there is not seen in the session.
final class WindowGround {
    let screen: HeadlessScreen
    let empty: [UInt8]
    let bus: PrivateBus
    let variables: [String]
    private let folder: String
    private var home: String { folder + "/home" }

    init(for program: WindowProgram) throws(Failure) {
        var paths: [String] = []
        let isOthers = program.account.user != getuid()
        for (name, package) in [(HeadlessScreen.program, "xvfb")]
            + PrivateBus.programs.map({ ($0, "dbus") })
            + (isOthers ? [("setpriv", "util-linux")] : [])
        {
            let searchPath = Caller.variables["PATH"] ?? ExecutableInspection.defaultSearchPath
            guard let path = try? ExecutableInspection.find(name, in: searchPath) else {
                throw WindowProgram.refusal(
                    "a window is measured on a screen of its own, which needs \(name); install it "
                        + "(in Debian, apt install \(package))")
            }
            paths.append(path)
        }
        let account = program.account
        folder = try PrivateDaemon.makeFolder()
        do throws(SystemError) {
            for name in ["home", "runtime"] {
                unsafe _ = mkdir("\(folder)/\(name)", 0o700)
            }
            Self.copySettings(of: program, to: folder + "/home")
            try PrivateBus.configure(in: folder)
            try HeadlessScreen.configure(in: folder)
            var prefix: [String] = []
            if isOthers {
                try Self.give(folder, to: account)
                prefix = [
                    paths[3], "--reuid=\(account.user)", "--regid=\(account.group)",
                    "--clear-groups", "--",
                ]
            }
            bus = try PrivateBus(Array(paths[1...2]), prefix, in: folder)
            screen = try HeadlessScreen(paths[0], prefix, in: folder)
        } catch {
            // An object that was not made is not taken apart.
            _ = Caller.run("/bin/rm", ["rm", "-rf", "--", folder], isQuiet: true)
            throw .system(error)
        }
        empty = screen.picture()
        variables =
            screen.variables + [
                "HOME=\(folder)/home", "XDG_RUNTIME_DIR=\(folder)/runtime",
                "XDG_CONFIG_HOME=\(folder)/home/.config", "XDG_CACHE_HOME=\(folder)/home/.cache",
                "XDG_DATA_HOME=\(folder)/home/.local/share",
                "XDG_STATE_HOME=\(folder)/home/.local/state",
                "DBUS_SESSION_BUS_ADDRESS=\(bus.address)", "NO_AT_BRIDGE=1", "SESSION_MANAGER=",
                "GDK_BACKEND=x11", "QT_QPA_PLATFORM=xcb",
            ]
    }

    deinit { _ = Caller.run("/bin/rm", ["rm", "-rf", "--", folder], isQuiet: true) }

    /// Whose settings are copied beside the program's own: those of toolkits and desktops. A whole
    /// home, with mail and pages, would take long, and is nothing for a trial.
    private static let sharedSettings = [
        "dconf", "fontconfig", "gtk-2.0", "gtk-3.0", "gtk-4.0", "kdeglobals", "Kvantum", "lxqt",
        "qt5ct", "qt6ct", "Trolltech.conf", "xfce4", "user-dirs.dirs", "user-dirs.locale",
    ]

    private static func copySettings(of program: WindowProgram, to home: String) {
        unsafe _ = mkdir(home + "/.config", 0o700)
        // Another user could have root read any file by putting a link in the place of a folder.
        guard program.account.user == getuid(),
            let own = SearchPath.configurationHome(Caller.variables),
            let names = try? FolderContents.names(in: own)
        else { return }
        let file = program.command[0].split(separator: "/").last.map(String.init) ?? ""
        for name in names
        where sharedSettings.contains(name) || name == program.identifier
            || [file, file + "rc", file + ".conf"].contains(name)
        {
            _ = Caller.run(
                "/bin/cp", ["cp", "-a", "--", "\(own)/\(name)", home + "/.config/"], isQuiet: true)
        }
    }

    /// The programs of another user get the folder, which stays closed to everybody else but root.
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
        do throws(SystemError) {
            var files: [String: FileIdentity] = [:]
            collect("", depth: 0, &files)
            return State(files: files, names: try bus.names())
        } catch {
            throw .system(error)
        }
    }

    /// What has changed, and what a process has to do with the network.
    func effects(since before: State, of process: Int32?) throws(Failure) -> SideEffects {
        let now = try state()
        return SideEffects(
            files: now.files.filter { before.files[$0.key] != $0.value }.keys.sorted(),
            names: now.names.subtracting(before.names).sorted(),
            connections: process.map(NetworkUse.of) ?? [])
    }

    private static let depthLimit = 8
    private static let fileLimit = 10_000

    private func collect(_ relative: String, depth: Int, _ files: inout [String: FileIdentity]) {
        for name in (try? FolderContents.names(in: home + "/" + relative)) ?? []
        where name != "." && name != ".." && files.count < Self.fileLimit {
            let path = relative + name
            guard let status = FileStatus(ofLink: home + "/" + path) else { continue }
            if status.kind == .folder {
                if depth < Self.depthLimit { collect(path + "/", depth: depth + 1, &files) }
            } else {
                files[path] = status.identity
            }
        }
    }
}

/// What a program has done before its window.
struct SideEffects: Hashable {
    /// In its home, relative to that.
    var files: [String] = []
    /// Names on the bus of its session.
    var names: [String] = []
    /// Addresses with ports.
    var connections: [String] = []

    /// Others see a written setting or a connection; a cache they do not miss.
    var visibleFiles: [String] { files.filter { !$0.hasPrefix(".cache/") } }
}

/// The sockets of the internet that a process has (proc(5), /proc/PID/net).
enum NetworkUse {
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
