internal import Glibc

/// Serves the sockets: the listening ones and the connections.
@MainActor
final class Server {
    static let shared = Server()

    /// How many clients have connected so far.
    private(set) var count = 0
    private var listeners: [CInt] = []
    private var connections: [CInt] = []

    /// At most this many connections. Further ones wait in the sockets' backlog.
    private static let connectionLimit = 64
    private static let firstDescriptor: CInt = 3

    func takeSockets() -> Bool {
        let text = unsafe getenv("LISTEN_FDS").map { unsafe String(cString: $0) }
        guard let count = text.flatMap({ CInt($0) }), (1...64).contains(count) else {
            return false
        }
        listeners = (0..<count).map { Self.firstDescriptor + $0 }
        return true
    }

    /// Waits for events and handles them. Returns whether the other descriptor is readable.
    func wait(besides other: CInt) -> Bool {
        let accepting = connections.count < Self.connectionLimit ? listeners : []
        var entries = ([other] + accepting + connections).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        guard unsafe poll(&entries, nfds_t(entries.count), -1) > 0 else { return false }
        for entry in entries.dropFirst() where entry.revents != 0 {
            if listeners.contains(entry.fd) { accept(entry.fd) } else { echo(entry.fd) }
        }
        return entries[0].revents != 0
    }

    private func accept(_ listener: CInt) {
        let connection = Glibc.accept(listener, nil, nil)
        guard connection >= 0 else { return }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        connections.append(connection)
        count += 1
    }

    private func echo(_ connection: CInt) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(connection, &bytes, bytes.count)
        if count > 0, unsafe send(connection, bytes, count, CInt(MSG_NOSIGNAL)) == count { return }
        close(connection)
        connections.removeAll { $0 == connection }
    }
}
