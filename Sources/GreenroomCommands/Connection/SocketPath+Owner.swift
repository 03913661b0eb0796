import Glibc

extension SocketPath {
    /// The option's path, else that of the owner's daemon, if an owner is given.
    static func find(option: String?, _ whose: DaemonOwner?) -> String {
        guard option == nil, let whose else { return find(option: option) }
        switch whose {
        case .user:
            return (runtimeDirectory ?? "/run/user/\(getuid())")
                + "/greenroom/control"
        case .system: return system
        }
    }

    /// Whether the daemon at this socket is one of this user's own, whose log is in the user's
    /// journal. Root has no journal apart from the system's.
    static func isUsers(_ path: String) -> Bool {
        guard getuid() != 0 else { return false }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return path != system }
        return status.st_uid == getuid()
    }
}
