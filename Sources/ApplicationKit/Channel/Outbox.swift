internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// Datagrams that wait for room in the socket, in order. Without it, an app that sends many
/// messages at once could lose an acknowledgement, and the daemon would end the app for it.
@MainActor
final class Outbox {
    private var waiting: [[UInt8]] = []
    /// Called when the first datagram has to wait, and when none waits any longer.
    var onChange: ((_ isWaiting: Bool) -> Void)?

    /// How long an app that ends waits for a daemon that does not read, in milliseconds.
    private static let patience: CInt = 5000

    var isEmpty: Bool { waiting.isEmpty }

    func send(_ bytes: [UInt8], to socket: CInt, mayBeLost: Bool) {
        if waiting.isEmpty, Self.send(bytes, to: socket) { return }
        // The daemon waits for the others: acknowledgements, one for each of its messages, and
        // requests, which have a limit of their own.
        if mayBeLost, waiting.count >= AppLimits.waitingNotes { return }
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

    /// - Returns: false if the socket has no room now. Also true for a datagram that can never be
    ///   sent, so that it does not stay in the way.
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
