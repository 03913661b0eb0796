internal import Glibc
public import GreenroomLinux
public import GreenroomManifest

/// The values of specifiers and bare program names on this machine, as one daemon sees it. Every
/// reader of manifests uses this. It looks up each value once. It is created for one reading and
/// then dropped.
public final class MachineValues {
    private let environment: [String: String]
    private let user: UInt32
    /// Desktop entries by identifier.
    public var entries: [String: DesktopFolders.Entry] { desktop.entries }
    public let desktop: DesktopFolders
    private let owners: PathOwners
    public let profiles: Profiles
    private let searchPath: String
    private var accounts: [String: Account?] = [:]
    private var texts: [Specifier: String?] = [:]

    /// - Parameters:
    ///   - environment: the daemon's environment. Apps of its user may use its XDG variables.
    ///   - user: the daemon's user; nil means this process's user.
    ///   - desktopPaths: the folders of desktop entries, in order of precedence.
    ///   - profilePaths: the folders of profiles, in order of precedence.
    public init(
        environment: [String: String], user: UInt32? = nil, desktopPaths: [String],
        profilePaths: [String] = []
    ) {
        self.environment = environment
        self.user = user ?? getuid()
        desktop = DesktopFolders(desktopPaths, user: user)
        owners = PathOwners(user: user)
        profiles = ProfileFolders(profilePaths, user: user).profiles
        searchPath = environment["PATH"] ?? ExecutableInspection.defaultSearchPath
    }

    /// The variables of a daemon's environment that matter to manifests.
    public static func environment(_ whole: [String]) -> [String] {
        let names = [
            "PATH", "HOME", "TMPDIR", "TEMP", "TMP", "XDG_STATE_HOME", "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
        ]
        return whole.filter { entry in names.contains { entry.hasPrefix($0 + "=") } }
    }

    /// The context for the reader of manifests.
    public var context: ManifestContext {
        var context = ManifestContext()
        context.findExecutable = { [self] in findExecutable($0) }
        context.specifiers = { [self] in text(for: $0, user: $1) }
        context.hasDesktopEntry = { [desktop] in desktop.entries[$0] != nil }
        context.checkLaunchScreen = { [owners] in LaunchScreenFile.look($0, owners) }
        context.knowsTimeZone = LocalZone.isKnown
        context.profiles = profiles
        return context
    }

    /// The path of the program, found in PATH as by exec; a path is returned unchanged if it can be
    /// executed.
    public func findExecutable(_ name: String) -> String? {
        try? ExecutableInspection.find(name, in: searchPath)
    }

    /// Why the program cannot be executed (execve(2)); nil if it can.
    public func objection(toProgram name: String) -> ExecutableError? {
        do throws(ExecutableError) {
            _ = try ExecutableInspection.inspect(path: name, searchPath: searchPath)
            return nil
        } catch {
            return error
        }
    }

    /// The command that opens a terminal for a program, without the program's own words.
    public var terminal: [String]? {
        if let path = findExecutable("xdg-terminal-exec") { return [path] }
        return findExecutable("x-terminal-emulator").map { [$0, "-e"] }
    }

    /// The account of `User=`, by name or number; nil means the daemon's own.
    public func account(_ user: String?) throws(SystemError) -> Account? {
        let wanted = user ?? String(self.user)
        if let known = accounts[wanted] { return known }
        let found: Account?
        if let number = UInt32(wanted) {
            found = try Account.numbered(number) ?? Account(unlisted: number, group: number)
        } else {
            found = try Account.named(wanted)
        }
        accounts[wanted] = .some(found)
        return found
    }

    /// The value of a specifier as in systemd.unit(5), "Specifiers", but for the app's user instead
    /// of the manager's.
    public func text(for specifier: Specifier, user: String?) -> String? {
        switch specifier {
        case .user, .userNumber, .group, .groupNumber, .home, .shell:
            ofAccount(specifier, user)
        case .runtimeDirectory: folder(user, "/run", "XDG_RUNTIME_DIR") { "/run/user/\($0.user)" }
        case .stateDirectory:
            folder(user, "/var/lib", "XDG_STATE_HOME") { $0.home + "/.local/state" }
        case .cacheDirectory: folder(user, "/var/cache", "XDG_CACHE_HOME") { $0.home + "/.cache" }
        case .configurationDirectory:
            folder(user, "/etc", "XDG_CONFIG_HOME") { $0.home + "/.config" }
        case .logDirectory: logFolder(user)
        case .temporaryDirectory: temporaryFolder ?? "/tmp"
        case .persistentTemporaryDirectory: temporaryFolder ?? "/var/tmp"
        case .bootIdentifier, .machineIdentifier, .hostName, .shortHostName, .kernelRelease:
            ofMachine(specifier)
        }
    }

    private func ofAccount(_ specifier: Specifier, _ user: String?) -> String? {
        guard let account = (try? account(user)) ?? nil else { return nil }
        switch specifier {
        case .userNumber: return String(account.user)
        case .group: return groupName(account.group)
        case .groupNumber: return String(account.group)
        case .home: return account.home
        case .shell: return account.shell
        case _: return account.name
        }
    }

    /// The name of a group, or its number if it has no name (getgrgid(3)).
    private func groupName(_ group: UInt32) -> String {
        guard let entry = unsafe getgrgid(group) else { return String(group) }
        return unsafe String(cString: entry.pointee.gr_name)
    }

    private func folder(
        _ user: String?, _ system: String, _ variable: String, _ own: (Account) -> String
    ) -> String? {
        guard let account = (try? account(user)) ?? nil else { return nil }
        if account.user == 0 { return system }
        if account.user == self.user, let path = environment[variable], path.hasPrefix("/") {
            return path
        }
        return own(account)
    }

    private func logFolder(_ user: String?) -> String? {
        guard let state = text(for: .stateDirectory, user: user) else { return nil }
        return state == "/var/lib" ? "/var/log" : state + "/log"
    }

    private var temporaryFolder: String? {
        ["TMPDIR", "TEMP", "TMP"].lazy.compactMap { self.environment[$0] }
            .first { $0.hasPrefix("/") }
    }

    private func ofMachine(_ specifier: Specifier) -> String? {
        if let known = texts[specifier] { return known }
        let text = Self.read(specifier)
        texts[specifier] = .some(text)
        return text
    }

    private static func read(_ specifier: Specifier) -> String? {
        switch specifier {
        case .bootIdentifier: identifier("/proc/sys/kernel/random/boot_id")
        case .machineIdentifier: identifier("/etc/machine-id")
        case .kernelRelease: line("/proc/sys/kernel/osrelease")
        case .hostName: line("/proc/sys/kernel/hostname")
        case _: line("/proc/sys/kernel/hostname")?.split(separator: ".").first.map(String.init)
        }
    }

    private static func line(_ path: String) -> String? {
        guard let text = try? SmallFile.text(of: path),
            let line = text.split(separator: "\n").first
        else { return nil }
        return String(line)
    }

    /// Reads 128 bits, as hexadecimal digits without hyphens, like sd_id128_to_string(3).
    private static func identifier(_ path: String) -> String? {
        guard let line = line(path) else { return nil }
        let digits = line.filter { $0 != "-" }
        return digits.count == 32 && digits.allSatisfy(\.isHexDigit) ? digits : nil
    }
}
