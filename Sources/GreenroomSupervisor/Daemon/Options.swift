internal import AppFolders
internal import GreenroomLinux

/// What greenroomd was told on its command line and by its environment.
public struct Options: Sendable, Equatable {
    /// Holds the control socket, the spawner's socket and everything that ends with the boot.
    public var runtimeDirectory: String
    /// Whether this is the system's daemon, which serves all users: root's, with the usual runtime
    /// directory.
    public var isSystem = false
    /// Holds what is remembered across boots.
    public var stateDirectory = ""
    /// Holds what apps can make again, and their temporary files.
    public var cacheDirectory = ""
    /// In order of precedence: the first that has a manifest for an identifier wins.
    public var appDirectories: [String]
    /// Where the system's daemon has its apps, for a user's daemon that has the usual directories.
    var systemAppDirectories: [String] = []
    /// Folders of desktop entries, and whether every entry makes an app, or only an entry that a
    /// manifest asks for.
    public var desktopDirectories: [String] = []
    public var makesDesktopApps = false
    /// Folders of profiles of desktop programs, in order of precedence.
    public var profileDirectories: [String] = []
    public var configurationFile: String
    /// True if the file was named, so that its absence is an error.
    public var isConfigurationRequired: Bool
    public var spawnerPath: String
    /// The program that keeps the history; it lies beside greenroomd.
    public var historyPath: String
    /// The program that watches names on a message bus; it lies beside greenroomd, too.
    public var busPath: String
    public var shimPath: String
    /// The folder of the files that run in interpreters.
    public var runtimesPath: String
    /// Put in front of the paths of /proc and /sys that tell the machine's memory, load, batteries
    /// and temperatures; empty for this machine.
    var machineRoot = ""

    /// What a command line asks for.
    public enum Outcome: Equatable, Sendable {
        case run(Options)
        /// Print and exit 0.
        case print(String)
        /// Print to standard error and exit 64 (EX_USAGE).
        case usage(String)
    }

    public static let version = productVersion

    public static let help = """
        greenroomd: supervises apps, prewarms them, and answers on a Varlink socket.

        USAGE: greenroomd [OPTION]...

          --runtime-directory DIR  sockets and runtime state (default: /run/greenroom as root,
                                   else $XDG_RUNTIME_DIR/greenroom)
          --state-directory DIR    what is kept across reboots (default: $STATE_DIRECTORY, else
                                   /var/lib/greenroom as root, else $XDG_STATE_HOME/greenroom;
                                   for root with another runtime directory: persistent in it)
          --cache-directory DIR    caches and temporary files of apps (default: $CACHE_DIRECTORY, else
                                   /var/cache/greenroom as root, else $XDG_CACHE_HOME/greenroom;
                                   for root with another runtime directory: cache in it)
          --apps DIR               read manifests from DIR; may be repeated, the first wins
          --desktop DIR            read desktop entries from DIR; may be repeated. Default, unless
                                   --apps is given: XDG_DATA_HOME and XDG_DATA_DIRS; as root they
                                   only complete manifests without Exec=
          --profiles DIR           read profiles of desktop programs from DIR; may be repeated, the
                                   first wins. Default, unless --apps is given: the folders
                                   greenroom/profiles in $XDG_CONFIG_HOME (not as root), /etc,
                                   /usr/local/lib, /usr/local/share, /usr/lib and /usr/share
          --config FILE            read FILE instead of greenroom.conf
          --spawner FILE           the greenroom-spawner to start where systemd does not
          --shim FILE              the preload shim, libgreenroom-prewarm.so
          --runtimes DIR           the folder of the files that run in interpreters
          --machine-root DIR       read pressure, free memory, load, batteries and temperatures
                                   from proc and sys below DIR instead of / (for tests)
          --version, --help

        SIGHUP reloads manifests. SIGTERM ends greenroomd: under systemd the apps go on in
        greenroom-apps.service, otherwise they are ended within their grace periods.
        See greenroomctl --help for the client.
        """

    private static let systemRuntimeDirectory = "/run/greenroom"

    /// Reads the command line (without the program's name). `executable` is greenroomd's own path:
    /// the spawner, the shim, the program for the history and the files for interpreters lie beside
    /// it.
    public static func parse(
        _ arguments: [String], environment: [String: String], isRoot: Bool, executable: String
    ) -> Outcome {
        let directory = parent(of: executable)
        var options = Options(
            runtimeDirectory: environment["GREENROOM_RUNTIME_DIRECTORY"]
                ?? (isRoot
                    ? Self.systemRuntimeDirectory
                    : environment["XDG_RUNTIME_DIR"].map { $0 + "/greenroom" } ?? ""),
            appDirectories: [], configurationFile: defaultConfiguration(environment, isRoot),
            isConfigurationRequired: false,
            spawnerPath: directory + "/greenroom-spawner",
            historyPath: directory + "/greenroom-history",
            busPath: directory + "/greenroom-bus",
            shimPath: directory + "/libgreenroom-prewarm.so",
            runtimesPath: directory + "/runtimes")
        if let end = options.read(arguments) { return end }
        guard !options.runtimeDirectory.isEmpty else {
            return .usage(
                "greenroomd: no XDG_RUNTIME_DIR in the environment; give --runtime-directory DIR")
        }
        options.complete(environment, isRoot)
        return .run(options)
    }

    /// - Returns: what is to be done instead of running.
    private mutating func read(_ arguments: [String]) -> Outcome? {
        var remaining = arguments[...]
        while let argument = remaining.popFirst() {
            var name = argument
            var inline: String?
            if argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") {
                name = String(argument[..<equals])
                inline = String(argument[argument.index(after: equals)...])
            }
            switch name {
            case "--help", "-h": return .print(Self.help)
            case "--version": return .print("greenroomd " + Self.version)
            case "--runtime-directory", "--state-directory", "--cache-directory", "--apps",
                "--desktop", "--profiles", "--config", "--spawner", "--shim", "--runtimes",
                "--machine-root":
                guard let value = inline ?? remaining.popFirst(), !value.isEmpty else {
                    return .usage("greenroomd: \(name) needs a value; see greenroomd --help")
                }
                set(name, to: value)
            default:
                return .usage("greenroomd: unknown argument “\(argument)”; see greenroomd --help")
            }
        }
        return nil
    }

    /// Fills in what the command line does not say.
    private mutating func complete(_ environment: [String: String], _ isRoot: Bool) {
        isSystem = isRoot && runtimeDirectory == Self.systemRuntimeDirectory
        if stateDirectory.isEmpty {
            stateDirectory =
                defaultState(environment, isRoot) ?? runtimeDirectory + "/persistent"
        }
        if cacheDirectory.isEmpty {
            cacheDirectory = defaultCache(environment, isRoot) ?? runtimeDirectory + "/cache"
        }
        makesDesktopApps = !isRoot || !desktopDirectories.isEmpty
        if desktopDirectories.isEmpty, appDirectories.isEmpty {
            desktopDirectories = SearchPath.desktop(environment)
        }
        if profileDirectories.isEmpty, appDirectories.isEmpty {
            profileDirectories = SearchPath.profiles(environment, isRoot: isRoot)
        }
        if appDirectories.isEmpty {
            appDirectories = SearchPath.paths(environment, isRoot: isRoot)
            systemAppDirectories = isRoot ? [] : SearchPath.system
        }
    }

    private mutating func set(_ name: String, to value: String) {
        switch name {
        case "--runtime-directory": runtimeDirectory = value
        case "--state-directory": stateDirectory = value
        case "--cache-directory": cacheDirectory = value
        case "--apps": appDirectories.append(value)
        case "--desktop": desktopDirectories.append(value)
        case "--profiles": profileDirectories.append(value)
        case "--config":
            configurationFile = value
            isConfigurationRequired = true
        case "--spawner": spawnerPath = value
        case "--machine-root": machineRoot = value
        case "--runtimes": runtimesPath = value
        default: shimPath = value
        }
    }

    /// The same options with absolute paths, because the spawner and apps start in other
    /// directories.
    func resolved(against directory: String) -> Options {
        func resolve(_ path: String) -> String {
            path.isEmpty || path.hasPrefix("/") ? path : directory + "/" + path
        }
        var options = self
        options.runtimeDirectory = resolve(runtimeDirectory)
        options.stateDirectory = resolve(stateDirectory)
        options.cacheDirectory = resolve(cacheDirectory)
        options.appDirectories = appDirectories.map(resolve)
        options.desktopDirectories = desktopDirectories.map(resolve)
        options.profileDirectories = profileDirectories.map(resolve)
        options.configurationFile = resolve(configurationFile)
        options.spawnerPath = resolve(spawnerPath)
        options.historyPath = resolve(historyPath)
        options.busPath = resolve(busPath)
        options.shimPath = resolve(shimPath)
        options.runtimesPath = resolve(runtimesPath)
        options.machineRoot = resolve(machineRoot)
        return options
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// systemd makes the directory that $STATE_DIRECTORY names (systemd.exec(5), StateDirectory=).
    private func defaultState(_ environment: [String: String], _ isRoot: Bool) -> String? {
        if let made = environment["STATE_DIRECTORY"], !made.isEmpty { return made }
        // A daemon in another runtime directory, perhaps for a test, leaves the machine's state
        // alone.
        if isRoot { return runtimeDirectory == "/run/greenroom" ? "/var/lib/greenroom" : nil }
        return
            (environment["XDG_STATE_HOME"]
            ?? environment["HOME"].map { $0 + "/.local/state" }).map { $0 + "/greenroom" }
    }

    private func defaultCache(_ environment: [String: String], _ isRoot: Bool) -> String? {
        if let made = environment["CACHE_DIRECTORY"], !made.isEmpty { return made }
        if isRoot { return runtimeDirectory == "/run/greenroom" ? "/var/cache/greenroom" : nil }
        return
            (environment["XDG_CACHE_HOME"] ?? environment["HOME"].map { $0 + "/.cache" })
            .map { $0 + "/greenroom" }
    }

    private static func defaultConfiguration(
        _ environment: [String: String], _ isRoot: Bool
    ) -> String {
        isRoot
            ? "/etc/greenroom/greenroom.conf"
            : (SearchPath.configurationHome(environment) ?? "") + "/greenroom/greenroom.conf"
    }
}
