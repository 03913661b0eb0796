import Glibc

extension SocketPath {
    /// The option's path, else that of the owner's daemon, if an owner is given.
    static func find(option: String?, _ whose: DaemonOwner?) -> String {
        guard option == nil, let whose else { return find(option: option) }
        switch whose {
        case .user:
            return (environment("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())")
                + "/greenroom/control"
        case .system: return system
        }
    }
}
