internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// The directory of a daemon's sockets and files. Another daemon that was told to end, or was
/// killed, may not have let go of it yet.
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
        // and lets go of it when it executes.
        let isTaken: Void? = tryUntilGone {
            flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 ? () : nil
        }
        guard isTaken != nil else {
            throw StartError(
                "another greenroomd runs in \(path); stop it or give --runtime-directory DIR")
        }
        return lock
    }

    /// Opens the socket where clients connect: systemd's (sd_listen_fds(3)), or our own in the
    /// directory. We hold the directory's lock, so a daemon that still answers there is about to
    /// end: it is waited for, longer than for its lock. On a busy machine, the processes that share
    /// a killed daemon's descriptors outlive it by more than a second.
    static func openControlSocket(in path: String) throws -> UnixSocket {
        if let inherited = try InheritedSocket.takeAll().first {
            let socket = UnixSocket(FileDescriptor(owning: inherited.descriptor))
            try socket.descriptor.setNonblocking(true)
            return socket
        }
        let socket = try tryUntilGone(seconds: 5) { () throws(SystemError) -> UnixSocket? in
            do throws(SystemError) {
                return try listen(in: path)
            } catch {
                guard error.code == EADDRINUSE else { throw error }
                return nil
            }
        }
        return try socket ?? listen(in: path)
    }

    private static func listen(in path: String) throws(SystemError) -> UnixSocket {
        try UnixSocket.listen(at: path + "/control", .stream, mode: 0o666, backlog: 512)
    }

    /// Repeats an attempt every millisecond, until the former daemon is gone.
    ///
    /// - Parameters:
    ///   - seconds: how long to go on, at most.
    ///   - attempt: returns nil if the former daemon still has what is needed.
    /// - Returns: the result of the attempt, or nil if all attempts failed.
    private static func tryUntilGone<Value, Failure>(
        seconds: Int = 1, _ attempt: () throws(Failure) -> Value?
    ) throws(Failure) -> Value? {
        for _ in 0..<seconds * 1_000 {
            if let value = try attempt() { return value }
            usleep(1_000)
        }
        return nil
    }

    /// The working directory of this process, which relative paths on its command line refer to.
    static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
