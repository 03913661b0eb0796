internal import CGreenroomLinux
internal import Glibc

/// A nonblocking Unix datagram socket with a name. Its messages come with their senders'
/// credentials. sd_notify(3) writes to such a socket.
public struct DatagramSocket: Sendable {
    public let descriptor: FileDescriptor
    private let disposer: Disposer?

    /// Binds the socket to a path, and replaces a file that a dead owner left (unlink, bind,
    /// chmod).
    ///
    /// - Parameters:
    ///   - owner: the user who is to own the socket's file.
    ///   - disposer: closes the descriptors that strangers send.
    public init(
        boundAt path: String, mode: UInt32, owner: UInt32? = nil, disposer: Disposer? = nil
    ) throws(SystemError) {
        self.disposer = disposer
        let number = try systemCall("socket") { gr_socket(CInt(SOCK_DGRAM.rawValue), true) }
        if let disposer {
            descriptor = FileDescriptor(
                owning: number, of: disposer.stranger(owner ?? geteuid()), .queue)
        } else {
            descriptor = FileDescriptor(owning: number)
        }
        _ = unsafe unlink(path)
        try systemCall("bind", on: path) { unsafe gr_bind(number, path) }
        try systemCall("chmod", on: path) { unsafe chmod(path, mode) }
        if let owner {
            try systemCall("lchown", on: path) { unsafe lchown(path, owner, .max) }
        }
        try systemCall("setsockopt") { gr_pass_credentials(number, true) }
    }

    /// The next message as text, and its sender; nil if no message waits. A message longer than
    /// `byteCount` bytes is cut off. Descriptors that came with it are closed.
    public func receive(
        atMost byteCount: Int = 4096
    ) throws(SystemError) -> (text: String, sender: Credentials)? {
        unsafe try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) {
            buffer throws(SystemError) in
            let socket = UnixSocket(descriptor)
            guard
                let message = unsafe try socket.receive(
                    into: buffer, from: { disposer?.stranger($0 ?? .max) }),
                let sender = message.credentials
            else { return nil }
            let text = unsafe String(
                decoding: UnsafeRawBufferPointer(rebasing: buffer[..<message.byteCount]),
                as: UTF8.self)
            return (text, sender)
        }
    }
}
