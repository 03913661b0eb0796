internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// Why a call to greenroomd failed.
enum DaemonFailure: Error {
    case unreachable(String)
    case refused(ControlError)
}

/// Calls the daemon, one call after the other. It blocks, because there is nothing else to do in
/// the meantime.
struct Daemon {
    let path: String
    private static let bufferByteCount = 16 << 10

    /// Makes a call on its own connection, because the daemon may have been restarted since the
    /// last call.
    func call(_ call: ControlCall) throws(DaemonFailure) -> ControlReply {
        do {
            let socket = try UnixSocket.connect(to: path, .stream, nonblocking: false)
            var connection = ClientConnection()
            connection.call(call.method, call, wantsMore: false, descriptorCount: 0)
            try send(&connection, over: socket)
            while true {
                if let reply = connection.nextReply() { return try read(reply, of: call) }
                if let violation = connection.violation { throw violation }
                try receive(&connection, from: socket)
            }
        } catch let failure as DaemonFailure {
            throw failure
        } catch {
            throw .unreachable("greenroomd at \(path): \(error)")
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
            throw DaemonFailure.unreachable("greenroomd is another version")
        }
    }
}
