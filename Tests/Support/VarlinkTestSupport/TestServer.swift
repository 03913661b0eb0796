import Glibc
public import GreenroomLinux
import Synchronization
public import Varlink

/// A small server on its own thread, a poll loop around `ServerConnection`, against which clients
/// are tested.
public final class TestServer: Sendable {
    /// One call on one connection, to be answered through `Answering` at once.
    public struct Incoming: Sendable {
        public let call: Call
        public let descriptors: [FileDescriptor]
        /// The connection's number, counted from 0.
        public let connectionNumber: Int
    }

    public enum Answer: Sendable {
        case reply([any ParametersEncodable & Sendable])
        /// A reply that carries descriptors.
        case replyWithDescriptors(JSONObject, [FileDescriptor])
        case fail(any CallError)
        /// Closes the connection without a reply.
        case hangUp
        /// Keeps the client waiting.
        case hold
        /// A reply to this call, and one to each call that waits.
        case replyReleasing(
            any ParametersEncodable & Sendable, held: any ParametersEncodable & Sendable)
    }

    public let path: String
    private let stop: UnixSocket
    private let thread: Mutex<pthread_t?> = Mutex(nil)
    private let pidOfDirectory: String

    public init(
        limits: Limits = .standard, handler: @escaping @Sendable (Incoming) -> Answer
    ) throws {
        var template = Array("/tmp/varlink-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, call: "mkdtemp") }
        pidOfDirectory = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        path = pidOfDirectory + "/control"
        let listener = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let (mine, theirs) = try UnixSocket.pair(.stream)
        stop = mine
        let loop = Loop(listener: listener, stop: theirs, limits: limits, handler: handler)
        var id = pthread_t()
        pthread_create(
            &id, nil,
            { context in
                Unmanaged<Loop>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(loop).toOpaque())
        thread.withLock { $0 = id }
    }

    deinit { end() }

    /// Closes every connection and the listener, and returns when that is done.
    public func end() {
        let id = thread.withLock { id in
            defer { id = nil }
            return id
        }
        guard let id else { return }
        _ = try? stop.send([1])
        pthread_join(id, nil)
        unlink(path)
        rmdir(pidOfDirectory)
    }
}

private final class Loop {
    private struct Peer {
        var socket: UnixSocket
        var connection: ServerConnection
        var number: Int
        var incoming: [FileDescriptor] = []
        var outgoing: [FileDescriptor] = []
        var isOpen = true
    }

    private let listener: UnixSocket
    private let stop: UnixSocket
    private let limits: Limits
    private let handler: @Sendable (TestServer.Incoming) -> TestServer.Answer
    private var peers: [Peer] = []
    private var count = 0

    init(
        listener: UnixSocket, stop: UnixSocket, limits: Limits,
        handler: @escaping @Sendable (TestServer.Incoming) -> TestServer.Answer
    ) {
        self.listener = listener
        self.stop = stop
        self.limits = limits
        self.handler = handler
    }

    func run() {
        while true {
            var entries = [
                PollEntry(stop.descriptor.rawValue, CInt(POLLIN)),
                PollEntry(listener.descriptor.rawValue, CInt(POLLIN)),
            ]
            for peer in peers {
                let input = peer.connection.wantsInput ? CInt(POLLIN) : 0
                let output = peer.connection.hasOutput ? CInt(POLLOUT) : 0
                entries.append(PollEntry(peer.socket.descriptor.rawValue, input | output))
            }
            _ = try? PollEntry.wait(&entries, milliseconds: -1)
            if entries[0].isReady { return }
            for index in peers.indices where entries[index + 2].isReady { serve(index) }
            if entries[1].isReady { accept() }
            peers.removeAll { !$0.isOpen }
        }
    }

    private func accept() {
        guard let socket = try? listener.accept() else { return }
        peers.append(
            Peer(socket: socket, connection: ServerConnection(limits: limits), number: count))
        count += 1
    }

    private func serve(_ index: Int) {
        if peers[index].connection.wantsInput {
            var buffer = [UInt8](repeating: 0, count: 16384)
            let socket = peers[index].socket
            do {
                let message = try buffer.withUnsafeMutableBytes { bytes throws(SystemError) in
                    try socket.receive(into: bytes)
                }
                if let message {
                    if message.byteCount == 0 { peers[index].isOpen = false }
                    peers[index].incoming += message.descriptors
                    peers[index].connection.receive(
                        Array(buffer[..<message.byteCount]),
                        descriptorCount: message.descriptors.count)
                }
            } catch {
                peers[index].isOpen = false
            }
        }
        while peers[index].isOpen {
            while let call = peers[index].connection.nextCall() { answer(call, index) }
            if peers[index].connection.violation != nil { peers[index].isOpen = false }
            guard flush(index) else { break }
        }
    }

    private func answer(_ call: Call, _ index: Int) {
        let descriptors = Array(peers[index].incoming.prefix(call.descriptorCount))
        peers[index].incoming.removeFirst(call.descriptorCount)
        let incoming = TestServer.Incoming(
            call: call, descriptors: descriptors, connectionNumber: peers[index].number)
        switch handler(incoming) {
        case .reply(let replies):
            for reply in replies.dropLast() { peers[index].connection.update(reply) }
            let last = replies[replies.count - 1]
            peers[index].connection.reply(last)
        case .replyWithDescriptors(let reply, let descriptors):
            peers[index].outgoing += descriptors
            peers[index].connection.reply(reply, descriptorCount: descriptors.count)
        case .fail(let error): peers[index].connection.fail(error)
        case .hangUp: peers[index].isOpen = false
        case .hold: break
        case .replyReleasing(let reply, let held):
            peers[index].connection.reply(reply)
            for other in peers.indices where other != index && peers[other].connection.isCalling {
                peers[other].connection.reply(held)
            }
        }
    }

    /// Whether there was something to send and all of it was sent.
    private func flush(_ index: Int) -> Bool {
        let before = peers[index].connection.hasOutput
        while peers[index].connection.hasOutput {
            let peer = peers[index]
            var taken = 0
            let sent = try? peer.connection.withOutput { span, count in
                taken = count
                return try span.withUnsafeBytes { bytes in
                    try peer.socket.send(
                        bytes, descriptors: peer.outgoing.prefix(count).map(\.rawValue))
                }
            }
            guard let written = sent else {
                peers[index].isOpen = false
                return false
            }
            guard let bytes = written ?? nil else { return false }
            peers[index].outgoing.removeFirst(taken)
            peers[index].connection.sent(byteCount: bytes)
        }
        return before
    }
}
