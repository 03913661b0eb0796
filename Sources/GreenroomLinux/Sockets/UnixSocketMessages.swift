internal import CGreenroomLinux
public import Glibc

/// One message, whose bytes are in the receiver's buffer.
public struct ReceivedMessage: Sendable {
    /// The number of bytes in the buffer. 0 means that the other end is closed (or sent an empty
    /// packet, which Greenroom never does).
    public let byteCount: Int
    /// Descriptors that the receiver now owns, in the sender's order, close-on-exec.
    public let descriptors: [FileDescriptor]
    /// The sender, if ``UnixSocket/setPassesCredentials(_:)`` is on.
    public let credentials: Credentials?
    /// Whether the packet was longer than the buffer; the rest is lost.
    public let isTruncated: Bool
    /// Whether descriptors were lost, because the kernel could not give this process that many (see
    /// `EMFILE`).
    public let lostDescriptors: Bool
}

extension UnixSocket {
    /// Sends one message (sendmsg, MSG_NOSIGNAL). Allocates nothing if there are no descriptors.
    ///
    /// - Parameter descriptors: at most 253; they stay open here.
    /// - Returns: the number of bytes sent (all bytes of a packet); nil if the call would block.
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

    /// Does the same as ``send(_:descriptors:)`` with an array.
    public func send(
        _ bytes: [UInt8], descriptors: [CInt] = []
    ) throws(SystemError) -> Int? {
        unsafe try bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in
            unsafe try send(buffer, descriptors: descriptors)
        }
    }

    /// Receives one message into the buffer (recvmsg, MSG_CMSG_CLOEXEC). Allocates nothing for a
    /// message without descriptors.
    ///
    /// - Parameter sender: the stranger to whom the descriptors that come with the message belong,
    ///   if any.
    /// - Returns: nil if the call would block.
    public func receive(
        into bytes: UnsafeMutableRawBufferPointer, from sender: Stranger? = nil
    ) throws(SystemError) -> ReceivedMessage? {
        unsafe try receive(into: bytes) { _ in sender }
    }

    /// Does the same as ``receive(into:from:)``, for a socket that anybody may send to.
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

    /// Reads the next message and leaves it in the socket with its descriptors (recvmsg, MSG_PEEK).
    /// ``UnixSocket/setPassesCredentials(_:)`` must be off.
    ///
    /// - Returns: the message's length, 0 at the end, and whether it has descriptors; nil if the
    ///   call would block.
    public func peek(
        into bytes: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> (byteCount: Int, hasDescriptors: Bool)? {
        var hasDescriptors = false
        let count = try systemCallUnlessBlocked("recvmsg") {
            unsafe gr_peek(descriptor.rawValue, bytes.baseAddress, bytes.count, &hasDescriptors)
        }
        return count.map { ($0, hasDescriptors) }
    }

    /// Discards the next message (recv). It must not have descriptors, because they would be closed
    /// here.
    public func discard() throws(SystemError) {
        _ = try systemCallUnlessBlocked("recv") { recv(descriptor.rawValue, nil, 0, 0) }
    }

    /// What waits to be received.
    public enum Queue: Sendable {
        case perhapsDescriptors
        /// Bytes, or nothing. `isLast` means that the other end will send no more.
        case bytes(isLast: Bool)
    }

    /// What waits to be received in a `.stream` socket. Nothing is taken out of the socket (poll,
    /// SIOCINQ, recvmsg, MSG_PEEK). ``UnixSocket/setPassesCredentials(_:)`` must be off.
    public var queue: Queue {
        switch gr_look_at_queue(descriptor.rawValue) {
        case GR_QUEUE_BYTES: .bytes(isLast: false)
        case GR_QUEUE_LAST_BYTES: .bytes(isLast: true)
        default: .perhapsDescriptors
        }
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
