import Glibc
import GreenroomControl
import GreenroomLinux
import Varlink

/// One connection to the daemon; blocks.
final class ControlClient {
    /// What one receive takes: most replies in one go.
    private static let bufferByteCount = 16 << 10

    let path: String
    private let socket: UnixSocket
    private var connection = ClientConnection()

    init(path: String) throws(Failure) {
        self.path = path
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path, .stream, nonblocking: false)
        } catch {
            throw .unreachable(path: path, error)
        }
    }

    /// To wait for, with other things.
    var descriptor: CInt { socket.descriptor.rawValue }

    /// Who listens: the daemon, or systemd where it has not started it yet (SO_PEERCRED).
    var serverProcess: Int32? {
        do throws(SystemError) { return try socket.peerCredentials().pid } catch { return nil }
    }

    /// The numbers that the daemon gives to processes are ours, too (pid_namespaces(7)). In a container,
    /// who listens outside is nobody: 0. Who listens in one has a second number there.
    var sharesProcessNumbers: Bool {
        guard let process = serverProcess, process > 0 else { return false }
        // Gone, or not to be seen by us: it has a number here.
        guard let text = try? SmallFile.text(of: "/proc/\(process)/status"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("NSpid:") })
        else { return true }
        return line.split(whereSeparator: \.isWhitespace).count == 2
    }

    /// Whose process listens (SO_PEERCRED).
    var serverUser: UInt32? {
        do throws(SystemError) { return try socket.peerCredentials().user } catch { return nil }
    }

    /// Neither ours nor root's: whoever it is may name any file.
    var belongsToAnother: Bool {
        serverUser.map { $0 != 0 && $0 != getuid() } ?? false
    }

    /// True while a reply is due.
    var isWaiting: Bool { connection.isWaiting }

    /// Calls and waits for the one reply.
    func call(_ call: ControlCall, descriptors: [CInt] = []) throws(Failure) -> ControlReply {
        try send(call, descriptors: descriptors)
        return try reply(to: call)
    }

    /// Calls, and waits for the reply no longer than that; nil if the daemon says nothing.
    func call(_ call: ControlCall, milliseconds: CInt) throws(Failure) -> ControlReply? {
        try send(call)
        let end = MonotonicClock.nanoseconds + UInt64(milliseconds) * 1_000_000
        while true {
            if let reply = try bufferedReply(to: call) { return reply }
            let now = MonotonicClock.nanoseconds
            guard now < end else { return nil }
            if hasInput(milliseconds: CInt((end - now) / 1_000_000 + 1)) { try receive() }
        }
    }

    /// Waits no longer than that for something to receive, or for the end of the connection.
    func hasInput(milliseconds: CInt) -> Bool {
        var entries = [PollEntry(descriptor, POLLIN)]
        return (try? PollEntry.wait(&entries, milliseconds: milliseconds)) ?? 0 > 0
    }

    func send(_ call: ControlCall, descriptors: [CInt] = []) throws(Failure) {
        connection.call(
            call.method, call, wantsMore: call.wantsMore, descriptorCount: descriptors.count)
        do throws(SystemError) {
            while let sent = try sendNext(descriptors) { connection.sent(byteCount: sent) }
        } catch {
            // A daemon that hangs up says why, if it can: that is read where the reply would be.
            if !error.isDisconnection { throw .system(error) }
        }
    }

    private func sendNext(_ descriptors: [CInt]) throws(SystemError) -> Int? {
        // The standard library's closures rethrow any error; ours is the only one there is.
        let result: Result<Int?, SystemError>? = connection.withOutput { span, count in
            let bytes = unsafe span.withUnsafeBytes { buffer in
                Result { () throws(SystemError) in
                    unsafe try socket.send(buffer, descriptors: count > 0 ? descriptors : [])
                }
            }
            return bytes
        }
        return try result?.get()
    }

    /// Waits for the next reply to the oldest call that is not answered.
    func reply(to call: ControlCall) throws(Failure) -> ControlReply {
        while true {
            if let reply = try bufferedReply(to: call) { return reply }
            try receive()
        }
    }

    /// The next reply, if it has been received.
    func bufferedReply(to call: ControlCall) throws(Failure) -> ControlReply? {
        guard let reply = connection.nextReply() else {
            if let violation = connection.violation { throw .unknown(violation.description) }
            return nil
        }
        let failure: Failure
        do throws(ServiceError) {
            guard let name = reply.error else {
                return try ControlReply(reply.parameters, to: call)
            }
            if let error = try ControlError(reply) {
                failure = .control(error)
            } else if let error = ServiceError(reply) {
                failure = .service(error)
            } else {
                failure = .unknown(name)
            }
        } catch {
            failure = .unknown("with an unusable reply (\(error))")
        }
        throw failure
    }

    /// Waits for some bytes and takes them.
    func receive() throws(Failure) {
        do throws(SystemError) {
            var count = 0
            var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                Result { () throws(SystemError) in unsafe try socket.receive(into: bytes) }
            }
            count = try result.get()?.byteCount ?? 0
            guard count > 0 else { throw SystemError(code: ECONNRESET, call: "recvmsg") }
            connection.receive(buffer.span.extracting(..<count))
        } catch {
            throw error.isDisconnection ? .disconnected : .system(error)
        }
    }
}
