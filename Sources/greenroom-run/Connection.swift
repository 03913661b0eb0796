import CGreenroomLinux
import Glibc
import GreenroomControl
import Varlink

/// A connection to the daemon. If anything goes wrong with it, greenroomctl takes over and reports
/// it.
final class Connection {
    /// The longest reply: the list of some thousand apps. greenroomctl reads longer ones.
    private static let replyByteLimit = 1 << 20
    /// The size of one receive, into which the replies of a launch fit.
    private static let chunkByteCount = 4 << 10

    private let socket: CInt
    private var connection: ClientConnection
    private var chunk = [UInt8](repeating: 0, count: chunkByteCount)

    /// - Parameter path: the daemon's socket.
    init(_ path: String) throws(HandOver) {
        var limits = Limits()
        limits.messageByteCount = Self.replyByteLimit
        connection = ClientConnection(limits: limits)
        socket = gr_socket(CInt(SOCK_STREAM.rawValue), false)
        guard socket >= 0, unsafe gr_connect(socket, path) == 0 else { throw HandOver() }
    }

    /// Waits for the reply to `listCalled`.
    func apps(called name: String) throws(HandOver) -> [Control.AppSummary] {
        guard case .listed(let apps) = try reply(to: .listCalled(name)) else { throw HandOver() }
        return apps
    }

    func send(_ call: ControlCall, descriptors: [CInt] = []) throws(HandOver) {
        connection.call(call.method, call, descriptorCount: descriptors.count)
        while let sent = sendNext(descriptors) {
            guard sent >= 0 else { throw HandOver() }
            connection.sent(byteCount: sent)
        }
    }

    /// - Returns: nil if there is nothing to send; -1 if the connection has failed.
    private func sendNext(_ descriptors: [CInt]) -> Int? {
        connection.withOutput { span, count in
            unsafe span.withUnsafeBytes { bytes in
                while true {
                    let sent = unsafe gr_send(
                        socket, bytes.baseAddress!, bytes.count, descriptors,
                        count > 0 ? CInt(descriptors.count) : 0)
                    if sent >= 0 || errno != EINTR { return sent }
                }
            }
        }
    }

    /// Waits for the reply to the oldest unanswered call.
    ///
    /// - Parameter signals: a signalfd(2). If a signal comes before the reply, this throws.
    func reply(
        to call: ControlCall, unless signals: CInt? = nil
    ) throws(HandOver) -> ControlReply {
        guard let reply = try reply(to: call, unless: signals, before: .unknown) else {
            throw HandOver()
        }
        return reply
    }

    /// Waits for the reply to the oldest unanswered call, or for the end of the process.
    ///
    /// - Returns: nil if the process ends first.
    func reply(
        to call: ControlCall, unless signals: CInt?, before process: AppProcess
    ) throws(HandOver) -> ControlReply? {
        while true {
            if let reply = connection.nextReply() {
                guard reply.error == nil else { throw HandOver(isRefusal: true) }
                guard let reply = try? ControlReply(reply.parameters, to: call) else {
                    throw HandOver()
                }
                return reply
            }
            guard connection.violation == nil else { throw HandOver() }
            if let signals, try waitHasEnded(process, unless: signals) { return nil }
            try receive()
        }
    }

    /// Waits for input.
    ///
    /// - Returns: true if the process has told its end before.
    private func waitHasEnded(
        _ process: AppProcess, unless signals: CInt
    ) throws(HandOver) -> Bool {
        var entries = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            // POLLHUP, which comes once the process was reaped, is always waited for.
            pollfd(fd: process.descriptor, events: 0, revents: 0),
        ]
        while true {
            guard unsafe poll(&entries, nfds_t(entries.count), -1) >= 0 else {
                guard errno == EINTR else { throw HandOver() }
                continue
            }
            if entries[2].revents != 0 {
                if process.ending != nil { return true }
                entries[2].fd = -1
            }
            if entries[0].revents != 0 { return false }
            // A signal stays pending for greenroomctl.
            if entries[1].revents != 0 { throw HandOver() }
        }
    }

    private func receive() throws(HandOver) {
        // Memory is never freed, so all receives use the same buffer.
        var bytes: [UInt8] = []
        swap(&bytes, &chunk)
        defer { swap(&bytes, &chunk) }
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            while true {
                let count = unsafe recv(socket, bytes.baseAddress, bytes.count, 0)
                if count >= 0 || errno != EINTR { return count }
            }
        }
        guard count > 0 else { throw HandOver() }
        connection.receive(bytes.span.extracting(..<count))
    }
}
