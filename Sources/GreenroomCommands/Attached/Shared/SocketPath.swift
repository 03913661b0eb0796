import Glibc

/// The path of the daemon's socket.
enum SocketPath {
    static let system = "/run/greenroom/control"

    /// The path that the option names, else the one that the environment names, else that of the
    /// user's daemon if its socket exists, else that of the system's daemon. For root, the system's
    /// daemon comes before the user's.
    static func find(option: String?) -> String {
        if let option { return option }
        if let path = environment("GREENROOM_SOCKET") { return path }
        if let directory = environment("GREENROOM_RUNTIME_DIRECTORY") {
            return directory + "/control"
        }
        guard let directory = runtimeDirectory else { return system }
        let user = directory + "/greenroom/control"
        let candidates = getuid() == 0 ? [system, user] : [user, system]
        return candidates.first { unsafe access($0, F_OK) == 0 } ?? candidates[0]
    }

    /// $XDG_RUNTIME_DIR, if it belongs to this user, as it must. After su(1), root has a user's
    /// variable, and whoever listens there would get root's environment and terminal.
    static var runtimeDirectory: String? {
        guard let directory = environment("XDG_RUNTIME_DIR") else { return nil }
        var status = stat()
        guard unsafe stat(directory, &status) == 0, status.st_uid == getuid() else { return nil }
        return directory
    }

    /// The socket of the system's daemon, which is asked for apps that the user's own daemon does not
    /// have; nil if one daemon was named, or if the system's is the first to be asked anyway.
    static func second(after first: String) -> String? {
        guard getuid() != 0, environment("GREENROOM_SOCKET") == nil,
            environment("GREENROOM_RUNTIME_DIRECTORY") == nil, first != system,
            unsafe access(system, F_OK) == 0
        else { return nil }
        return system
    }

    static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}
