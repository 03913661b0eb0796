import Glibc
public import GreenroomControl
import GreenroomLinux
import TestSupport
import Varlink

/// One connection to a daemon, with typed calls. Waits for each reply, up to a limit.
public final class TestClient {
    private let socket: UnixSocket
    private var connection = ClientConnection()

    public init(_ path: String) throws {
        socket = try UnixSocket.connect(to: path, .stream, nonblocking: false)
    }

    /// Takes over a connected, blocking socket, which may belong to another user.
    public init(owning descriptor: Int32) {
        socket = UnixSocket(FileDescriptor(owning: descriptor))
    }

    public var descriptor: Int32 { socket.descriptor.rawValue }

    /// Calls and waits for the one reply.
    /// - Throws: the `ControlError` or `ServiceError` that the daemon answered.
    @discardableResult
    public func call(_ call: ControlCall, descriptors: [Int32] = []) throws -> ControlReply {
        try send(call, descriptors: descriptors)
        return try reply(to: call)
    }

    public func send(_ call: ControlCall, descriptors: [Int32] = []) throws {
        connection.call(
            call.method, call, wantsMore: call.wantsMore, descriptorCount: descriptors.count)
        while true {
            let sent = try connection.withOutput { span, count in
                try span.withUnsafeBytes {
                    try socket.send($0, descriptors: count > 0 ? descriptors : [])
                }
            }
            guard let byteCount = sent ?? nil else { return }
            connection.sent(byteCount: byteCount)
        }
    }

    /// Sends bytes that are not a message, or only a part of one.
    public func send(bytes: [UInt8]) throws {
        _ = try bytes.withUnsafeBytes { try socket.send($0, descriptors: [Int32]()) }
    }

    public func reply(
        to call: ControlCall, milliseconds: Int32 = Processes.deadline
    ) throws -> ControlReply {
        try reply(to: call, or: nil, milliseconds: milliseconds)!
    }

    /// - Returns: nil if the other descriptor became readable first, or if neither did in time.
    func reply(
        to call: ControlCall, or other: Int32?, milliseconds: Int32 = Processes.deadline
    ) throws -> ControlReply? {
        while true {
            if let reply = connection.nextReply() {
                guard reply.error != nil else {
                    return try ControlReply(reply.parameters, to: call)
                }
                if let error = try ControlError(reply) { throw error }
                throw ServiceError(reply) ?? TestError("unknown error \(reply)")
            }
            if let violation = connection.violation { throw violation }
            var entries = ([descriptor] + (other.map { [$0] } ?? [])).map { PollEntry($0, POLLIN) }
            guard try PollEntry.wait(&entries, milliseconds: milliseconds) > 0 else {
                if other != nil { return nil }
                throw TestError("no reply to \(call.method)")
            }
            guard entries[0].isReady else { return nil }
            try receive()
        }
    }

    /// Returns when the daemon has closed the connection. Drops what the daemon sends before.
    public func awaitClose() throws {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            guard try socket.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
                throw TestError("the daemon keeps the connection")
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 || (count < 0 && errno == ECONNRESET) { return }
        }
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let message = try buffer.withUnsafeMutableBytes { try socket.receive(into: $0) }
        guard let count = message?.byteCount, count > 0 else {
            throw TestError("the daemon closed the connection")
        }
        connection.receive(buffer.span.extracting(..<count))
    }
}

extension TestClient {
    /// - Parameters:
    ///   - output, input: what the app gets as its standard output and input.
    public func launch(
        _ app: String, _ arguments: [String] = [], input: Int32? = nil, output: Int32? = nil,
        _ change: (inout Control.LaunchCall) -> Void = { _ in }
    ) throws -> Control.Launched {
        var call = Control.LaunchCall(app: app)
        call.arguments = arguments.map(ByteString.text)
        var descriptors: [Int32] = []
        if let input {
            call.standardInput = descriptors.count
            descriptors.append(input)
        }
        if let output {
            call.standardOutput = descriptors.count
            descriptors.append(output)
        }
        change(&call)
        return try launch(call, descriptors: descriptors)
    }

    public func launch(
        _ call: Control.LaunchCall, descriptors: [Int32] = []
    ) throws -> Control.Launched {
        guard case .launched(let launched) = try self.call(.launch(call), descriptors: descriptors)
        else { throw TestError("another reply") }
        return launched
    }

    public func wait(_ instance: UInt64) throws -> Control.ExitRecord {
        try wait(.instance(instance))
    }

    public func wait(_ target: Control.WaitTarget) throws -> Control.ExitRecord {
        guard case .exited(let exited) = try call(.wait(target)) else {
            throw TestError("another reply")
        }
        return exited.exit
    }

    /// - Returns: the state that the daemon says was reached.
    @discardableResult
    public func change(
        _ transition: Control.Transition, _ instance: UInt64
    ) throws -> Control.Word<Control.ExecutionState> {
        guard case .changed(let changed) = try call(.transition(transition, .instance(instance)))
        else { throw TestError("another reply") }
        return changed.state
    }

    public func instances(of app: String? = nil) throws -> [Control.InstanceStatus] {
        guard case .status(let instances) = try call(.status(app.map(Control.Target.app))) else {
            throw TestError("another reply")
        }
        return instances
    }

    public func instance(_ instance: UInt64) throws -> Control.InstanceStatus {
        guard case .status(let instances) = try call(.status(.instance(instance))),
            let first = instances.first
        else { throw TestError("no instance \(instance)") }
        return first
    }

    /// The instances of an app that wait before their main.
    public func paused(_ app: String) throws -> [Control.InstanceStatus] {
        try instances(of: app).filter { $0.state == .prewarmed }
    }

    @discardableResult
    public func prewarm(_ app: String, count: Int = 1) throws -> [UInt64] {
        guard case .prewarmed(let instances) = try call(.prewarm(app: app, count: count)) else {
            throw TestError("another reply")
        }
        return instances
    }

    public func list() throws -> [Control.AppSummary] {
        guard case .listed(let apps) = try call(.list) else { throw TestError("another reply") }
        return apps
    }

    public func reload() throws -> Control.ReloadReport {
        guard case .reloaded(let report) = try call(.reload) else {
            throw TestError("another reply")
        }
        return report
    }

    public func explain(_ app: String) throws -> Control.Explanation {
        guard case .explained(let explanation) = try call(.explain(app: app)) else {
            throw TestError("another reply")
        }
        return explanation
    }

    public func describe() throws -> Control.Description {
        guard case .described(let description) = try call(.describe) else {
            throw TestError("another reply")
        }
        return description
    }
}
