internal import Glibc
internal import GreenroomLinux

/// The connection to the supervisor. There is one at a time. Another supervisor replaces one that
/// has gone or has never said hello, but not one that is alive.
///
/// A connection that fails never ends the spawner: the supervisor comes back and reads the table.
final class SupervisorConnection {
    let listener: UnixSocket
    private var supervisor: Supervisor?
    /// The time since which no supervisor has been connected (``MonotonicClock``, nanoseconds).
    private(set) var aloneSince = MonotonicClock.nanoseconds
    /// Whether a connection could not be accepted, so that the next attempt must wait.
    private(set) var isDeaf = false

    private struct Supervisor {
        let stream: PacketStream
        /// The supervisor's process, if children may take descriptors from its table.
        var owner: ProcessDescriptor?
        var saidHello = false
        /// Whether all messages so far could be sent to the supervisor.
        var listens = true
    }

    init(_ listener: UnixSocket) { self.listener = listener }

    var isOpen: Bool { supervisor != nil }
    var hasUnsent: Bool { supervisor?.stream.hasUnsent ?? false }
    /// The descriptor to wait for.
    var number: CInt? { supervisor?.stream.socket.descriptor.rawValue }
    var owner: ProcessDescriptor? { supervisor?.owner }

    // MARK: Coming and going

    /// Accepts a supervisor.
    ///
    /// - Parameter hearOut: handles what a supervisor that has gone had sent before.
    func accept(_ hearOut: () -> Void) {
        while true {
            let socket: UnixSocket
            do throws(SystemError) {
                guard let next = try listener.accept() else { return }
                socket = next
            } catch {
                // No descriptor is free. The supervisor is accepted when one is free again. If the
                // spawner ended because of this, every exit status would be lost.
                isDeaf = true
                return
            }
            guard (try? socket.peerCredentials())?.user == geteuid() else { continue }
            if let current = supervisor, current.saidHello {
                guard current.stream.socket.isEnded else { continue }
                hearOut()
            }
            supervisor = Supervisor(stream: PacketStream(socket))
        }
    }

    /// Allows the next attempt to accept.
    func listenAgain() { isDeaf = false }

    /// The supervisor has said hello, and is told from now on what happens.
    func greet() {
        supervisor?.saidHello = true
        // The child of an ordinary user may be in its own user namespace, and then may not fetch.
        if geteuid() == 0, let process = supervisor?.stream.socket.otherProcess(), process.letsFetch
        {
            supervisor?.owner = process
        }
    }

    func disconnect() {
        // A spawn under way may keep the socket open for its announcement.
        supervisor?.stream.end()
        supervisor = nil
        aloneSince = MonotonicClock.nanoseconds
    }

    /// Shuts the connection down, so that the supervisor sees its end even if another process has a
    /// copy.
    func end() { supervisor?.stream.end() }

    // MARK: Messages

    /// Where a waiter may announce that a process runs its program; nil if the supervisor must first
    /// receive what is queued for it, or if there is none.
    var announcedTo: UnixSocket? {
        guard let supervisor, supervisor.saidHello, supervisor.listens,
            !supervisor.stream.hasUnsent
        else { return nil }
        return supervisor.stream.socket
    }

    /// The next packet that has arrived; nil if there is none.
    func receive() throws(ConnectionError) -> Packet? { try supervisor?.stream.receive() }

    /// Sends a message to the supervisor, if one is connected that has said hello.
    func tell(_ message: SpawnerMessage) {
        guard let supervisor, supervisor.saidHello, supervisor.listens else { return }
        do {
            try supervisor.stream.send(message.packet())
        } catch {
            stopTelling()
        }
    }

    func flush() {
        guard let supervisor, supervisor.listens else { return }
        do { try supervisor.stream.flush() } catch { stopTelling() }
    }

    /// Stops sending to a supervisor that no longer receives. What it has sent is still handled: if
    /// its releases were lost, the next supervisor would be told about those instances again.
    private func stopTelling() {
        supervisor?.listens = false
        supervisor?.stream.end()
    }
}
