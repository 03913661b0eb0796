/// The directories of manifests, in systemd's order for units (systemd.unit(5), "Unit File Load
/// Path"): the administrator's first, then those for files that are created at run time, then the
/// vendor's.
///
/// `greenroom/apps` in the machine's folders has the apps of the system's daemon, and
/// `greenroom/user-apps` those of every user's own daemon, like systemd's `system` and `user`. An
/// app belongs to one kind of daemon; otherwise each user's daemon would start the system's
/// services again.
public enum SearchPath {
    static let vendor = ["/usr/local/lib", "/usr/local/share", "/usr/lib", "/usr/share"]
    public static let system = (["/etc", "/run"] + vendor).map { $0 + "/greenroom/apps" }

    public static func user(_ environment: [String: String]) -> [String] {
        let dataFolders =
            (environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 })
            .map { $0.split(separator: ":").map(String.init) } ?? []
        func apps(_ folder: String?) -> [String] { folder.map { [$0 + "/greenroom/apps"] } ?? [] }
        func userApps(_ folders: [String]) -> [String] {
            folders.map { $0 + "/greenroom/user-apps" }
        }
        var seen: Set<String> = []
        return
            (apps(configurationHome(environment)) + userApps(["/etc"])
            + apps(environment["XDG_RUNTIME_DIR"]) + userApps(["/run"])
            + apps(dataHome(environment)) + userApps(dataFolders + vendor))
            .filter { $0.hasPrefix("/") && seen.insert($0).inserted }
    }

    /// The directories for root or for any other user.
    public static func paths(_ environment: [String: String], isRoot: Bool) -> [String] {
        isRoot ? system : user(environment)
    }

    /// The directory of the user's configuration; nil if the user has no home directory.
    public static func configurationHome(_ environment: [String: String]) -> String? {
        home("XDG_CONFIG_HOME", "/.config", environment)
    }

    /// The directory of the user's data; nil if the user has no home directory.
    public static func dataHome(_ environment: [String: String]) -> String? {
        home("XDG_DATA_HOME", "/.local/share", environment)
    }

    /// The variables of a process's environment. If a name occurs twice, the first one is used.
    public static func variables(of environment: [String]) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in environment {
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(entry[..<equals])
            if variables[name] == nil {
                variables[name] = String(entry[entry.utf8.index(after: equals)...])
            }
        }
        return variables
    }

    private static func home(
        _ variable: String, _ standard: String, _ environment: [String: String]
    ) -> String? {
        // A relative path must be ignored (XDG Base Directory Specification).
        if let path = environment[variable], path.hasPrefix("/") { return path }
        return environment["HOME"].map { $0 + standard }
    }
}
