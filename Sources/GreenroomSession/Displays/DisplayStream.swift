internal import Glibc
internal import GreenroomLinux

/// The connection to a display server. Calls wait for the server, but give up on one that is
/// stopped.
final class DisplayStream {
    /// In milliseconds. Even a server under load answers in less time.
    static let usualPatience: CInt = 30_000
    /// At most this many messages are handled at a time, so that a client that floods the display does
    /// not keep other work from being done.
    static let messageLimit = 256
    /// Servers send less at a time. They belong to the user's own session, so they are trusted.
    private static let chunkByteCount = 16 << 10

    private let path: String
    private let socket: UnixSocket
    private let patience: CInt
    private var received: [UInt8] = []
    /// Where what nobody has taken yet begins.
    private var start = 0

    /// - Parameter patience: in milliseconds, for each wait for the server.
    init(path: String, patience: CInt) throws(DisplayFailure) {
        self.path = path
        self.patience = patience
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path, .stream)
        } catch {
            throw .unusable("\(error)")
        }
    }

    var descriptor: CInt { socket.descriptor.rawValue }
    /// Whether something was read that nobody has taken yet.
    var hasReceived: Bool { start < received.count }

    /// - Parameter descriptors: sent with the first byte.
    func send(_ bytes: [UInt8], descriptors: [CInt] = []) throws(DisplayFailure) {
        var rest = bytes[...]
        var descriptors = descriptors
        while !rest.isEmpty {
            let sent: Int?
            do throws(SystemError) {
                sent = try socket.send(Array(rest), descriptors: descriptors)
            } catch {
                throw .lost(path: path)
            }
            if let sent {
                rest.removeFirst(sent)
                descriptors = []
            } else {
                guard try isReady(POLLOUT, milliseconds: patience) else { throw .silent }
            }
        }
    }

    /// The next `count` bytes.
    func take(_ count: Int) throws(DisplayFailure) -> [UInt8] {
        while received.count - start < count { try receive() }
        defer { start += count }
        return Array(received[start..<start + count])
    }

    /// Whether the next byte has come.
    func hasInput() throws(DisplayFailure) -> Bool {
        while !hasReceived {
            guard try isReady(POLLIN, milliseconds: 0) else { return false }
            try receive()
        }
        return true
    }

    private func isReady(_ events: CInt, milliseconds: CInt) throws(DisplayFailure) -> Bool {
        do throws(SystemError) {
            return try PollEntry.wait(for: descriptor, events, milliseconds: milliseconds)
        } catch {
            throw .lost(path: path)
        }
    }

    private func receive() throws(DisplayFailure) {
        guard try isReady(POLLIN, milliseconds: patience) else { throw .silent }
        var buffer = [UInt8](repeating: 0, count: Self.chunkByteCount)
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            Result { () throws(SystemError) in unsafe try socket.receive(into: bytes) }
        }
        guard case .success(let message) = result else { throw .lost(path: path) }
        guard let message else { return }
        guard message.byteCount > 0 else { throw .lost(path: path) }
        received.removeFirst(start)
        start = 0
        received += buffer[..<message.byteCount]
    }
}

/// The little-endian words of X11 and Wayland.
extension [UInt8] {
    mutating func put(_ word: UInt32) {
        for shift in stride(from: 0, to: 32, by: 8) {
            append(UInt8(truncatingIfNeeded: word >> UInt32(shift)))
        }
    }

    mutating func put(_ half: UInt16) {
        append(UInt8(truncatingIfNeeded: half))
        append(UInt8(truncatingIfNeeded: half >> 8))
    }

    /// Pads the bytes to a whole number of words.
    mutating func pad() { while !count.isMultiple(of: 4) { append(0) } }

    /// 0 beyond the end: a message that is too short says nothing of use.
    func word(at offset: Int) -> UInt32 {
        guard offset >= 0, offset + 4 <= count else { return 0 }
        return (0..<4).reduce(0) { $0 | UInt32(self[offset + $1]) << UInt32(8 * $1) }
    }

    func half(at offset: Int) -> UInt16 {
        guard offset >= 0, offset + 2 <= count else { return 0 }
        return UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }
}
