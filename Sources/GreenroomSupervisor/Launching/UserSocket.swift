internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// A datagram socket to which the processes of one user can send, and nobody else. If what that
/// user sends cannot be closed, that delays nobody else. Descriptors may come, at most as many as
/// the disposer takes from the user.
@LoopActor
final class UserSocket {
    private let socket: DatagramSocket
    private let byteLimit: Int
    private let stranger: Stranger
    private let onMessage: (String, Credentials) -> Void
    private var source: EventSource?
    private var resumption: EventSource?
    /// How long to wait before looking again whether what the user sent has been closed.
    private static let pause = Duration.milliseconds(200)
    private static let drainLimit = 8

    /// - Parameters:
    ///   - byteLimit: how much of a message is read; the rest of a longer one is lost.
    ///   - onMessage: called with each message and its sender, as the kernel reports it.
    init(
        boundAt path: String, of user: UInt32, byteLimit: Int, disposer: Disposer,
        priority: Int64 = 0, onMessage: @escaping (String, Credentials) -> Void
    ) throws {
        socket = try DatagramSocket(boundAt: path, mode: 0o600, owner: user, disposer: disposer)
        stranger = disposer.stranger(user)
        self.byteLimit = byteLimit
        self.onMessage = onMessage
        source = try LoopActor.io(socket.descriptor.rawValue, .readable, priority: priority) {
            [unowned self] _ in receive()
        }
        resumption = try LoopActor.timer { [unowned self] in
            try? source?.setEvents(.readable)
        }
    }

    private func receive() {
        guard !stranger.isOverdrawn else {
            try? source?.setEvents([])
            try? resumption?.setDeadline(after: Self.pause)
            return
        }
        _ = receiveOne()
    }

    /// Reads what has been sent so far. A user who sends without a pause must not delay everybody
    /// else.
    func drain() {
        for _ in 0..<Self.drainLimit where !stranger.isOverdrawn {
            guard receiveOne() else { return }
        }
    }

    /// - Returns: false if there was no message.
    private func receiveOne() -> Bool {
        guard let (text, sender) = try? socket.receive(atMost: byteLimit) else { return false }
        onMessage(text, sender)
        return true
    }

    /// Makes the directory of such sockets, if it is not there.
    static func makeDirectory(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw SystemError(code: errno, call: "mkdir", subject: path)
        }
    }
}
