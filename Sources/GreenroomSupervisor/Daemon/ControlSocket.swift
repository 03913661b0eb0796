internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// Where clients connect.
enum ControlSocket {
    /// Opens systemd's socket (sd_listen_fds(3)), or our own in the runtime directory. We hold the
    /// lock of that directory, so a daemon that still answers there is about to end. We wait for
    /// it, longer than for its lock: on a busy machine, the processes that share a killed daemon's
    /// descriptors outlive it by more than a second.
    static func open(in runtimeDirectory: String) throws -> UnixSocket {
        if let inherited = try InheritedSocket.takeAll().first {
            let socket = UnixSocket(FileDescriptor(owning: inherited.descriptor))
            try socket.descriptor.setNonblocking(true)
            return socket
        }
        let socket = try FormerDaemon.tryUntilGone(seconds: 5) {
            () throws(SystemError) -> UnixSocket? in
            do throws(SystemError) {
                return try listen(in: runtimeDirectory)
            } catch {
                guard error.code == EADDRINUSE else { throw error }
                return nil
            }
        }
        return try socket ?? listen(in: runtimeDirectory)
    }

    private static func listen(in runtimeDirectory: String) throws(SystemError) -> UnixSocket {
        try UnixSocket.listen(
            at: runtimeDirectory + "/control", .stream, mode: 0o666, backlog: 512)
    }
}
