internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// Why a call to greenroomd failed.
enum DaemonFailure: Error {
    /// Nobody listens, or this user may not connect.
    case unreachable(String)
    /// The connection has ended before the reply, as when the daemon is restarted.
    case disconnected(String)
    /// There was no reply in time, or none that this program knows.
    case unanswered(String)
    case refused(ControlError)
}

/// How long the reply to a question may take.
struct AnswerPatience {
    var usual: Duration
    /// The same if the daemon is being restarted.
    var restart: Duration

    /// For a question without whose answer the call fails. Most callers on the bus wait for 25 s.
    static let ofCaller = AnswerPatience(usual: .seconds(20), restart: .seconds(20))
    /// For a question without whose answer the app is started in another way. The user waits for the
    /// app. A restart seldom takes longer.
    static let ofUser = AnswerPatience(usual: .seconds(2), restart: .seconds(5))
}

/// Calls the daemon, one call after the other. It blocks, because there is nothing else to do in
/// the meantime.
struct Daemon {
    let path: String

    private static let bufferByteCount = 16 << 10
    /// The pause before a question is repeated, in milliseconds.
    private static let pause: CInt = 50

    /// Asks a question. It changes nothing, so it may be asked again. systemd keeps the socket during
    /// a restart, so the new daemon may be silent for a while before it answers.
    func ask(
        _ question: ControlCall, _ patience: AnswerPatience
    ) throws(DaemonFailure) -> ControlReply {
        let begin = MonotonicClock.nanoseconds
        let restartEnd = begin + patience.restart.nanoseconds
        var end = begin + patience.usual.nanoseconds
        var isRestarting = false
        while true {
            do throws(DaemonFailure) { return try call(question, until: end) } catch {
                switch error {
                case .disconnected, .refused(.shuttingDown):
                    isRestarting = true
                    end = restartEnd
                case .unreachable where isRestarting: break
                case .unreachable, .unanswered, .refused: throw error
                }
                guard MonotonicClock.nanoseconds < end else { throw error }
            }
            var none: [PollEntry] = []
            _ = try? PollEntry.wait(&none, milliseconds: Self.pause)
        }
    }

    /// Makes a call on its own connection, because the daemon may have been restarted since the
    /// last call.
    ///
    /// - Parameter end: until when to wait for the reply, on the monotonic clock; nil for ever.
    func call(_ call: ControlCall, until end: UInt64? = nil) throws(DaemonFailure) -> ControlReply {
        let socket = try connect(waits: end == nil)
        do {
            var connection = ClientConnection()
            connection.call(call.method, call, wantsMore: false, descriptorCount: 0)
            try send(&connection, over: socket)
            while true {
                if let reply = connection.nextReply() { return try read(reply, of: call) }
                if let violation = connection.violation { throw violation }
                if let end { try waitForInput(socket, until: end) }
                try receive(&connection, from: socket)
            }
        } catch let failure as DaemonFailure {
            throw failure
        } catch let error as SystemError {
            throw .disconnected("greenroomd at \(path): \(error)")
        } catch {
            throw .unanswered("greenroomd at \(path): \(error)")
        }
    }

    /// - Parameter waits: whether to wait while the daemon has no room for a connection.
    private func connect(waits: Bool) throws(DaemonFailure) -> UnixSocket {
        do throws(SystemError) {
            return try UnixSocket.connect(to: path, .stream, nonblocking: !waits)
        } catch {
            let text = "greenroomd at \(path): \(error)"
            // Other errors may pass, like the end of a connection.
            let isLasting = [ENOENT, ECONNREFUSED, EACCES].contains(error.code)
            throw isLasting ? .unreachable(text) : .disconnected(text)
        }
    }

    private func waitForInput(_ socket: UnixSocket, until end: UInt64) throws {
        while true {
            let now = MonotonicClock.nanoseconds
            guard now < end else {
                throw DaemonFailure.unanswered("greenroomd at \(path) does not answer")
            }
            let rest = CInt((end - now) / 1_000_000 + 1)
            if try socket.descriptor.waitUntilReadable(milliseconds: rest) { return }
        }
    }

    private func send(_ connection: inout ClientConnection, over socket: UnixSocket) throws {
        while true {
            let sent = try connection.withOutput { span, _ in
                try unsafe span.withUnsafeBytes { try unsafe socket.send($0, descriptors: []) }
            }
            guard let count = sent ?? nil else { return }
            connection.sent(byteCount: count)
        }
    }

    private func receive(_ connection: inout ClientConnection, from socket: UnixSocket) throws {
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        let message = try unsafe buffer.withUnsafeMutableBytes {
            try unsafe socket.receive(into: $0)
        }
        guard let count = message?.byteCount, count > 0 else {
            throw SystemError(code: ECONNRESET, call: "recvmsg")
        }
        connection.receive(buffer.span.extracting(..<count))
    }

    private func read(_ reply: Reply, of call: ControlCall) throws -> ControlReply {
        guard reply.error != nil else { return try ControlReply(reply.parameters, to: call) }
        if let error = try ControlError(reply) { throw DaemonFailure.refused(error) }
        switch ServiceError(reply) {
        case .invalidParameter(let name)?:
            throw DaemonFailure.refused(
                .refused(
                    code: "invalid_parameter",
                    reason: "greenroomd does not accept the call's \"\(name)\""))
        case .permissionDenied?:
            throw DaemonFailure.refused(.permissionDenied(needed: "another user"))
        case .interfaceNotFound?, .methodNotFound?, .methodNotImplemented?, .expectedMore?, nil:
            throw DaemonFailure.unanswered("greenroomd is another version")
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: UInt64 { UInt64(self / .nanoseconds(1)) }
}
