internal import CApplicationKit
internal import Glibc

/// Datagrams that wait for room in the socket, in their order. An app that says much at once would
/// otherwise lose an acknowledgement among its notes, and be ended for it.
@MainActor
final class Outbox {
    private var waiting: [[UInt8]] = []
    /// Told when something waits, and when nothing does any more.
    var onChange: ((_ isWaiting: Bool) -> Void)?

    /// Notes (steps, first frames, slow callbacks) are kept up to this number. What the daemon waits for
    /// always is: an acknowledgement for each of its own messages, and requests, which are counted
    /// (``Application/requestLimit``).
    static let noteLimit = 256
    /// How long an app that ends waits for a daemon that does not read, in milliseconds.
    private static let patience: CInt = 5000

    var isEmpty: Bool { waiting.isEmpty }

    func send(_ bytes: [UInt8], to socket: CInt, mayBeLost: Bool) {
        if waiting.isEmpty, Self.send(bytes, to: socket) { return }
        if mayBeLost, waiting.count >= Self.noteLimit { return }
        waiting.append(bytes)
        if waiting.count == 1 { onChange?(true) }
    }

    func flush(to socket: CInt) {
        guard !waiting.isEmpty else { return }
        let rest = waiting.firstIndex { !Self.send($0, to: socket) }
        waiting.removeFirst(rest ?? waiting.count)
        if waiting.isEmpty { onChange?(false) }
    }

    func drain(to socket: CInt) {
        flush(to: socket)
        while !waiting.isEmpty, cak_wait_writable(socket, Self.patience) { flush(to: socket) }
    }

    /// False where there is no room now. What cannot be sent at all has been.
    private static func send(_ bytes: [UInt8], to socket: CInt) -> Bool {
        var sent: Int
        repeat {
            sent = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
        } while sent < 0 && errno == EINTR
        return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS)
    }
}
