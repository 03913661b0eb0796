internal import GreenroomLinux

extension PreloadLibrary {
    /// Why a user's programs cannot be paused with the library at this path, and what to do about
    /// it; nil if they can.
    ///
    /// - Parameter isOwnUser: whether the user is the daemon's own, which was seen to be able to
    ///   read the library.
    func objection(at path: String, isOwnUser: Bool) -> String? {
        let shim = "\(path), the preload shim,"
        switch obstacle {
        case .missing:
            return "\(shim) is missing; build it with make, or name it with greenroomd --shim"
        case .unspeakable:
            return "\(shim) has a space, a colon or a dollar sign in its path, which LD_PRELOAD "
                + "cannot name; install Greenroom elsewhere"
        case .damaged:
            return "\(shim) is not a complete library for this machine; install it again"
        case .notExecutable:
            return "\(shim) is on a file system that is mounted noexec; install it elsewhere"
        case nil:
            guard !isOwnUser, let closed else { return nil }
            return "\(shim) cannot be loaded by other users, because \(closed) is closed to them; "
                + "chmod a+rX \(closed)"
        }
    }
}
