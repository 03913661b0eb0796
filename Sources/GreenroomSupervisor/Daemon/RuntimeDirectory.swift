internal import Glibc
internal import GreenroomLinux

/// The directory of a daemon's sockets and files.
enum RuntimeDirectory {
    /// Makes the directory and locks it, because only one daemon may use it. The lock (flock(2))
    /// ends with the process, however it ends.
    static func take(_ path: String) throws -> FileDescriptor {
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw StartError("creating \(path): \(SystemError.text(of: errno))")
        }
        // Whoever could change the directory would decide whom clients and the spawner talk to.
        if let objection = PathOwners().objection(to: path) {
            throw StartError("\(objection); correct that, or give --runtime-directory DIR")
        }
        let lock = try FileDescriptor.open(path + "/lock", O_RDWR | O_CREAT, mode: 0o600)
        // If a supervisor was killed while it started its spawner, the child has a copy of the lock
        // and releases it when it executes its program.
        let isTaken: Void? = FormerDaemon.tryUntilGone {
            flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 ? () : nil
        }
        guard isTaken != nil else {
            throw StartError(
                "another greenroomd runs in \(path); stop it or give --runtime-directory DIR")
        }
        return lock
    }

    /// The working directory of this process, which relative paths on its command line refer to.
    static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
