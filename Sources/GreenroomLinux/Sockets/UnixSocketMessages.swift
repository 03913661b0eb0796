internal import CGreenroomLinux
public import Glibc

/// One message, whose bytes lie in the receiver's buffer.
public struct ReceivedMessage: Sendable {
    /// Bytes in the buffer. 0: the other end is closed (or sent an empty packet: ours never do).
    public let byteCount: Int
    /// Owned by the receiver, in the sender's order, close-on-exec.
    public let descriptors: [FileDescriptor]
    /// The sender, where ``UnixSocket/setPassesCredentials(_:)`` is on.
    public let credentials: Credentials?
    /// The packet was longer than the buffer: its rest is lost.
    public let isTruncated: Bool
    /// Descriptors were lost: more than the kernel could give us (see `EMFILE`).
    public let lostDescriptors: Bool
}

extension UnixSocket {
    /// Sends one message (sendmsg, MSG_NOSIGNAL). Nothing is allocated without descriptors.
    ///
    /// - Parameter descriptors: at most 253; they stay open here.
    /// - Returns: bytes sent (a packet: all of them); nil where it would wait.
    public func send(
        _ bytes: UnsafeRawBufferPointer, descriptors: [CInt] = []
    ) throws(SystemError) -> Int? {
        try systemCallUnlessBlocked("sendmsg") {
            unsafe descriptors.withUnsafeBufferPointer {
                unsafe gr_send(
                    descriptor.rawValue, bytes.baseAddress, bytes.count, $0.baseAddress,
                    CInt($0.count))
            }
        }
    }

    /// As ``send(_:descriptors:)`` with an array.
    public func send(
        _ bytes: [UInt8], descriptors: [CInt] = []
    ) throws(SystemError) -> Int? {
        unsafe try bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in
            unsafe try send(buffer, descriptors: descriptors)
        }
    }

    /// Receives one message into the buffer (recvmsg, MSG_CMSG_CLOEXEC). Nothing is allocated for a
    /// message without descriptors.
    ///
    /// - Parameter sender: whose descriptors come along, where that is a stranger.
    /// - Returns: nil where it would wait.
    public func receive(
        into bytes: UnsafeMutableRawBufferPointer, from sender: Stranger? = nil
    ) throws(SystemError) -> ReceivedMessage? {
        unsafe try receive(into: bytes) { _ in sender }
    }

    /// As ``receive(into:from:)``, from a socket to which anybody sends.
    public func receive(
        into bytes: UnsafeMutableRawBufferPointer, from sender: (uid_t?) -> Stranger?
    ) throws(SystemError) -> ReceivedMessage? {
        unsafe try withUnsafeTemporaryAllocation(of: gr_message.self, capacity: 1) {
            place throws(SystemError) in
            let message = place.baseAddress!
            let count = try systemCallUnlessBlocked("recvmsg") {
                unsafe gr_receive(descriptor.rawValue, bytes.baseAddress, bytes.count, message)
            }
            guard let count else { return nil }
            return unsafe ReceivedMessage(
                byteCount: count,
                descriptors: Self.descriptors(of: message, sender),
                credentials: message.pointee.has_credentials
                    ? Credentials(
                        pid: message.pointee.pid, user: message.pointee.uid,
                        group: message.pointee.gid) : nil,
                isTruncated: message.pointee.data_truncated,
                lostDescriptors: message.pointee.control_truncated)
        }
    }

    /// Reads the next message and leaves it where it is, of a socket where
    /// ``UnixSocket/setPassesCredentials(_:)`` is off; its descriptors stay with it (recvmsg, MSG_PEEK).
    ///
    /// - Returns: its length, 0 at the end, and whether there are descriptors; nil where it would wait.
    public func peek(
        into bytes: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> (byteCount: Int, hasDescriptors: Bool)? {
        var hasDescriptors = false
        let count = try systemCallUnlessBlocked("recvmsg") {
            unsafe gr_peek(descriptor.rawValue, bytes.baseAddress, bytes.count, &hasDescriptors)
        }
        return count.map { ($0, hasDescriptors) }
    }

    /// Takes the next message away. One with descriptors must not be: they would be closed here (recv).
    public func discard() throws(SystemError) {
        _ = try systemCallUnlessBlocked("recv") { recv(descriptor.rawValue, nil, 0, 0) }
    }

    private static func descriptors(
        of message: UnsafeMutablePointer<gr_message>, _ sender: (uid_t?) -> Stranger?
    ) -> [FileDescriptor] {
        let count = unsafe Int(message.pointee.fd_count)
        if count == 0 { return [] }
        let stranger = unsafe sender(
            message.pointee.has_credentials ? message.pointee.uid : nil)
        return unsafe withUnsafeBytes(of: &message.pointee.fds) { raw in
            let numbers = unsafe raw.bindMemory(to: CInt.self)
            return (0..<count).map { index in
                guard let stranger else { return unsafe FileDescriptor(owning: numbers[index]) }
                return unsafe FileDescriptor(owning: numbers[index], of: stranger)
            }
        }
    }
}
