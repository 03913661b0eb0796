internal import Glibc
internal import GreenroomLinux

/// The environment that an app gets when its caller brings none: that of its user's session as far
/// as a daemon can know it (environ(7), pam_env(8)).
enum LoginEnvironment {
    /// The PATH that a login would set if nothing else is known.
    private static let defaultPath = "/usr/local/bin:/usr/bin:/bin"
    private static let defaultSystemPath =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    /// Variables of the daemon that are about the daemon itself and not for its apps.
    private static let own: Set<String> = [
        "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC",
        "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM", "RUNTIME_DIRECTORY", "SYSTEMD_EXEC_PID",
        "MANAGERPID", "SWIFT_BACKTRACE", "GREENROOM_RUNTIME_DIRECTORY", "GREENROOM_SOCKET",
        "STATE_DIRECTORY", "CACHE_DIRECTORY", "LD_PRELOAD", "OLDPWD", "PWD", "SHLVL", "_",
        // They belong to the launch that started the session, and that launch is over.
        "DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN",
    ]

    /// What a user who is logged in, or lingers, has below /run/user (pam_systemd(8)).
    struct Surroundings: Hashable, Sendable {
        let variables: [String: String]

        init(ofUser user: uid_t) {
            let directory = "/run/user/\(user)"
            var found: [String: String] = [:]
            if Self.isOwn(directory, S_IFDIR, user) { found["XDG_RUNTIME_DIR"] = directory }
            let bus = directory + "/bus"
            if !found.isEmpty, Self.isOwn(bus, S_IFSOCK, user) {
                found["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + bus
            }
            variables = found
        }

        private static func isOwn(_ path: String, _ kind: mode_t, _ user: uid_t) -> Bool {
            // The user may have mounted a file system there, whose server need not answer.
            guard let status = PathOwners.status(of: path) else { return false }
            return status.st_mode & S_IFMT == kind && status.st_uid == user
        }
    }

    /// - Parameters:
    ///   - daemon: the daemon's own environment.
    ///   - isSameUser: the app runs as the daemon's user, whose session it shares.
    static func make(
        for account: Account, daemon: [String], isSameUser: Bool, additions: [String]
    ) -> [String] {
        var variables: [(name: String, value: String)] = []
        func set(_ name: String, _ value: String) {
            variables.removeAll { $0.name == name }
            variables.append((name, value))
        }
        for entry in daemon {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            let name = String(entry[..<equals])
            // An app of another user takes over the machine's language and nothing else from the
            // daemon.
            let isWanted =
                isSameUser ? !own.contains(name) : name == "LANG" || name.hasPrefix("LC_")
            if isWanted { set(name, String(entry[entry.index(after: equals)...])) }
        }
        if !variables.contains(where: { $0.name == "PATH" }) {
            set("PATH", account.user == 0 ? defaultSystemPath : defaultPath)
        }
        set("HOME", account.home)
        set("USER", account.name)
        set("LOGNAME", account.name)
        set("SHELL", account.shell)
        if !isSameUser {
            for (name, value) in Surroundings(ofUser: account.user).variables { set(name, value) }
        }
        for entry in additions {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            set(String(entry[..<equals]), String(entry[entry.index(after: equals)...]))
        }
        return variables.map { "\($0.name)=\($0.value)" }
    }
}
