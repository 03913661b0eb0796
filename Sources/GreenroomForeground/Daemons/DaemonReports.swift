internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// What is reported to one greenroomd, on a connection that stays open: its end would withdraw the
/// report. A daemon that restarts is told again.
final class DaemonReports {
    /// How often a daemon that has ended is looked for, and the first pause, which doubles: half a
    /// minute altogether. Afterwards it is looked for when the focus changes.
    private static let attemptLimit = 8
    private static let firstPause: UInt64 = 125_000_000
    /// In milliseconds. A daemon that does not answer in this time is left alone until the focus
    /// changes.
    private static let patience: CInt = 5000
    private static let bufferByteCount = 16 << 10

    private let path: String
    private var socket: UnixSocket?
    private var connection = ClientConnection()
    private var attemptCount = 0
    /// It was connected once, so it is expected to come back.
    private var wasThere = false
    /// When the daemon is looked for again (CLOCK_MONOTONIC); nil while nothing is to be repeated.
    private(set) var retryAt: UInt64?
    /// Identifiers of windows that are not the app's own, as the daemon's list of apps has them.
    private var names: [String: String?] = [:]

    init(path: String) { self.path = path }

    /// The connection's, which becomes readable when the daemon ends; nil if there is none.
    var descriptor: CInt? { socket?.descriptor.rawValue }

    /// Tells the daemon.
    func report(_ front: Front?) {
        retryAt = nil
        attemptCount = 0
        tell(front)
    }

    /// The daemon has ended, or its time to be looked for has come.
    func repeatReport(_ front: Front?) {
        retryAt = nil
        close()
        tell(front)
    }

    private func tell(_ front: Front?) {
        do throws(Failure) {
            switch front {
            case .process(let process): _ = try call(.reportForeground(.process(process)))
            case .app(let name): try report(appOfWindow: name)
            case nil: _ = try call(.reportForeground(nil))
            }
            attemptCount = 0
        } catch {
            close()
            // A machine may have only one of the two daemons. One that is upgraded has no socket for
            // a moment.
            guard case .lost = error, attemptCount < Self.attemptLimit else { return }
            retryAt = MonotonicClock.nanoseconds + Self.firstPause << UInt64(attemptCount)
            attemptCount += 1
        }
    }

    private func close() {
        socket = nil
        connection = ClientConnection()
        names = [:]
    }

    // MARK: Apps of windows

    private func report(appOfWindow name: String) throws(Failure) {
        if names[name] == nil { names[name] = .some(try app(ofWindow: name)) }
        guard let app = names[name] ?? nil else {
            _ = try call(.reportForeground(nil))
            return
        }
        do throws(Failure) { _ = try call(.reportForeground(.app(app))) } catch {
            // It is not installed any more, or another user's.
            guard case .refused = error else { throw error }
            names[name] = nil
            _ = try call(.reportForeground(nil))
        }
    }

    /// A window's identifier should be its desktop entry's name, and so the app's. Some programs
    /// write it in other letters, or only its last part.
    private func app(ofWindow name: String) throws(Failure) -> String? {
        guard !name.isEmpty, case .listed(let apps) = try call(.list) else { return nil }
        let all = apps.map(\.identifier)
        if all.contains(name) { return name }
        let lower = name.lowercased()
        let alike = all.filter { $0.lowercased() == lower }
        if let app = alike.first { return app }
        let short = all.filter { $0.lowercased().hasSuffix("." + lower) }
        return short.count == 1 ? short[0] : nil
    }

    // MARK: Calls

    private enum Failure: Error {
        /// There never was a daemon.
        case absent
        case lost
        case refused
    }

    private func call(_ call: ControlCall) throws(Failure) -> ControlReply {
        let socket = try connected()
        connection.call(call.method, call)
        do {
            try send(over: socket)
            while true {
                if let reply = connection.nextReply() {
                    guard reply.error == nil else { throw Failure.refused }
                    return try ControlReply(reply.parameters, to: call)
                }
                if connection.violation != nil { throw Failure.lost }
                try receive(from: socket)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .lost
        }
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

    private func receive(from socket: UnixSocket) throws {
        try awaitEvents(POLLIN, of: socket)
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        let message = try unsafe buffer.withUnsafeMutableBytes {
            try unsafe socket.receive(into: $0)
        }
        guard let message else { return }
        guard message.byteCount > 0 else { throw Failure.lost }
        connection.receive(buffer.span.extracting(..<message.byteCount))
    }

    private func awaitEvents(_ events: CInt, of socket: UnixSocket) throws {
        guard
            try PollEntry.wait(
                for: socket.descriptor.rawValue, events, milliseconds: Self.patience)
        else { throw Failure.lost }
    }
}
