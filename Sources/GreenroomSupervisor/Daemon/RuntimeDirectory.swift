internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// The directory of a daemon's sockets and files, once it is this daemon's. Another daemon that was
/// told to end, or was killed, may not have let go of it yet.
struct RuntimeDirectory {
    let path: String
    let lock: DirectoryLock
    /// Where clients connect.
    let socket: UnixSocket

    init(_ path: String) throws {
        self.path = path
        lock = try DirectoryLock(path)
        socket = try lock.openControlSocket(in: path)
    }

    /// The working directory of this process, which relative paths on its command line refer to.
    static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}

/// No other daemon runs in the directory while this is open. The lock (flock(2)) ends with the
/// process, however it ends.
struct DirectoryLock {
    private let file: FileDescriptor

    /// Makes the directory and locks it.
    fileprivate init(_ path: String) throws {
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw StartError("creating \(path): \(SystemError.text(of: errno))")
        }
        // Whoever could change the directory would decide whom clients and the spawner talk to.
        if let objection = PathOwners().objection(to: path) {
            throw StartError("\(objection); correct that, or give --runtime-directory DIR")
        }
        let file = try FileDescriptor.open(path + "/lock", O_RDWR | O_CREAT, mode: 0o600)
        // If a supervisor was killed while it started its spawner, the child has a copy of the lock
        // and lets go of it when it executes.
        let isTaken: Void? = Self.tryUntilGone {
            flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 ? () : nil
        }
        guard isTaken != nil else {
            throw StartError(
                "another greenroomd runs in \(path); stop it or give --runtime-directory DIR")
        }
        self.file = file
    }

    /// Opens the socket where clients connect: systemd's (sd_listen_fds(3)), or our own in the
    /// directory. We have the directory's lock, so a daemon that still answers there is about to
    /// end: it is waited for, longer than for its lock. On a busy machine, the processes that share
    /// a killed daemon's descriptors outlive it by more than a second.
    fileprivate func openControlSocket(in path: String) throws -> UnixSocket {
        if let inherited = try InheritedSocket.takeAll().first {
            let socket = UnixSocket(FileDescriptor(owning: inherited.descriptor))
            try socket.descriptor.setNonblocking(true)
            return socket
        }
        let socket = try Self.tryUntilGone(seconds: 5) { () throws(SystemError) -> UnixSocket? in
            do throws(SystemError) {
                return try Self.listen(in: path)
            } catch {
                guard error.code == EADDRINUSE else { throw error }
                return nil
            }
        }
        return try socket ?? Self.listen(in: path)
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
}
