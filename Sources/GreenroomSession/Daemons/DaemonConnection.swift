internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// A connection to one greenroomd that stays open. After the daemon has ended, the connection is
/// tried again for a while.
final class DaemonConnection {
    enum Failure: Error {
        /// There has never been a daemon.
        case absent
        case lost
        case refused
    }

    /// At most this many attempts follow the end of a daemon. The pauses before them begin with
    /// `firstPause` and double, which takes half a minute in all. After that, the next attempt is
    /// made when something happens on the display.
    private static let attemptLimit = 8
    private static let firstPause: UInt64 = 125_000_000
    /// In milliseconds. A daemon that does not answer in this time is left alone until something
    /// happens on the display.
    private static let patience: CInt = 5000
    private static let bufferByteCount = 16 << 10

    private let path: String
    private var socket: UnixSocket?
    private var connection = ClientConnection()
    private var attemptCount = 0
    /// Whether the daemon was connected before, so that it is expected to come back.
    private var wasThere = false
    /// The time of the next attempt (CLOCK_MONOTONIC); nil if none is planned.
    private(set) var retryAt: UInt64?

    init(path: String) { self.path = path }

    /// The connection's descriptor, which becomes readable when the daemon ends; nil if there is no
    /// connection.
    var descriptor: CInt? { socket?.descriptor.rawValue }

    func close() {
        socket = nil
        connection = ClientConnection()
    }

    // MARK: Further attempts

    /// Drops the planned attempt, because one is made now.
    func clearRetry() { retryAt = nil }

    /// Called when the daemon has answered, or when something has happened on the display.
    func resetAttempts() {
        attemptCount = 0
        retryAt = nil
    }

    /// Plans the next attempt if the daemon was there before: a machine may have only one of the
    /// two daemons, and a daemon that is being upgraded has no socket for a moment.
    func retry(after failure: Failure) {
        guard case .lost = failure, attemptCount < Self.attemptLimit else { return }
        retryAt = MonotonicClock.nanoseconds + Self.firstPause << UInt64(attemptCount)
        attemptCount += 1
    }

    // MARK: Calls

    /// Does not wait for the reply, which `nextReply` returns.
    func send(_ call: ControlCall) throws(Failure) {
        let socket = try connected()
        connection.call(call.method, call, wantsMore: call.wantsMore)
        do { try send(over: socket) } catch { throw .lost }
    }

    /// Waits for the first reply. If the call has several replies, `nextReply` returns the others.
    func call(_ call: ControlCall) throws(Failure) -> ControlReply {
        try send(call)
        guard let socket else { throw .lost }
        do {
            while true {
                if let reply = try takeReply(to: call) { return reply }
                try awaitEvents(POLLIN, of: socket)
                _ = try receive(from: socket)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .lost
        }
    }

    /// The next reply that has already come; nil if there is none.
    func nextReply(to call: ControlCall) throws(Failure) -> ControlReply? {
        guard let socket else { throw .lost }
        do {
            while true {
                if let reply = try takeReply(to: call) { return reply }
                guard try receive(from: socket) else { return nil }
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .lost
        }
    }

    private func takeReply(to call: ControlCall) throws -> ControlReply? {
        if let reply = connection.nextReply() {
            guard reply.error == nil else { throw Failure.refused }
            return try ControlReply(reply.parameters, to: call)
        }
        if connection.violation != nil { throw Failure.lost }
        return nil
    }

    private func connected() throws(Failure) -> UnixSocket {
        if let socket { return socket }
        do throws(SystemError) {
            let new = try UnixSocket.connect(to: path, .stream)
            socket = new
            wasThere = true
            return new
        } catch {
            throw !wasThere && error.code == ENOENT ? .absent : .lost
        }
    }

    private func send(over socket: UnixSocket) throws {
        while true {
            let sent = try connection.withOutput { span, _ in
                try unsafe span.withUnsafeBytes { try unsafe socket.send($0) }
            }
            switch sent {
            case .some(let count?): connection.sent(byteCount: count)
            case .some(nil): try awaitEvents(POLLOUT, of: socket)
            case nil: return
            }
        }
    }

    /// - Returns: false if nothing has come yet.
    private func receive(from socket: UnixSocket) throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        let message = try unsafe buffer.withUnsafeMutableBytes {
            try unsafe socket.receive(into: $0)
        }
        guard let message else { return false }
        guard message.byteCount > 0 else { throw Failure.lost }
        connection.receive(buffer.span.extracting(..<message.byteCount))
        return true
    }

    private func awaitEvents(_ events: CInt, of socket: UnixSocket) throws {
        guard
            try PollEntry.wait(
                for: socket.descriptor.rawValue, events, milliseconds: Self.patience)
        else { throw Failure.lost }
    }
}
