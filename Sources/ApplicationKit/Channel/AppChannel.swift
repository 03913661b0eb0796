internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// `CLOCK_MONOTONIC` in nanoseconds (clock_gettime(2)).
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The app's end of its socket to the daemon.
@MainActor
@safe final class AppChannel {
    let descriptor: CInt
    /// Holds one message at a time. The kernel gives memory to a page of it only when a message is
    /// large enough to reach that page.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)

    private let descriptorBuffer = UnsafeMutablePointer<CInt>.allocate(
        capacity: WireFormat.descriptorLimit)

    /// Messages for which the socket has had no room yet.
    let outbox = Outbox()

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// A message with the descriptors that came with it.
    struct Incoming {
        var message: DaemonMessage
        /// The receiver closes them.
        var descriptors: [CInt]
    }

    enum Reception {
        case message(Incoming)
        /// No message has arrived.
        case nothing
        /// A message that this side does not understand. It has been answered with an error.
        case refused
        case end
    }

    func receive(waiting: Bool) -> Reception {
        var count = WireFormat.descriptorLimit
        let size = unsafe cak_receive(
            descriptor, buffer.baseAddress!, buffer.count, descriptorBuffer, &count, waiting)
        var descriptors: [CInt] = []
        if size > 0, count > 0 {
            for index in 0..<count { descriptors.append(unsafe descriptorBuffer[index]) }
        }
        if size == -Int(EAGAIN) { return .nothing }
        if size == -Int(EPROTO) { return refuse(EPROTO, cookie: 0) }
        guard size > 0 else { return .end }
        let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffer))
            .extracting(first: size)
        do throws(WireError) {
            let message = try DaemonMessage(
                decoding: bytes, descriptorCount: count,
                readStrings: { (index, byteCount) throws(WireError) in
                    try Self.read(descriptors[index], byteCount)
                })
            // The strings' own descriptor has been read; it is the last one.
            if case .go(let go) = message, go.roles.count < count {
                Glibc.close(descriptors.removeLast())
            }
            return .message(Incoming(message: message, descriptors: descriptors))
        } catch {
            for descriptor in descriptors { Glibc.close(descriptor) }
            if case .unknownType = error { return refuse(ENOSYS, cookie: Self.cookie(in: bytes)) }
            return refuse(EPROTO, cookie: Self.cookie(in: bytes))
        }
    }

    private func refuse(_ code: CInt, cookie: UInt64) -> Reception {
        send(.error(errno: code, cookie: cookie))
        return .refused
    }

    private static func cookie(in datagram: RawSpan) -> UInt64 {
        guard datagram.byteCount >= WireFormat.headerByteCount else { return 0 }
        return unsafe datagram.unsafeLoadUnaligned(
            fromByteOffset: WireFormat.cookieOffset, as: UInt64.self
        ).littleEndian
    }

    /// Reads a launch's strings from a file: they were too long for a datagram.
    private static func read(_ file: CInt, _ byteCount: Int) throws(WireError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var done = 0
        while done < byteCount {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(file, $0.baseAddress! + done, byteCount - done, off_t(done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .wrongLength(announced: byteCount, received: done)
            }
            done += count
        }
        return bytes
    }

    /// Sends a message without ever waiting, because a daemon that is slow to read must not stop
    /// the app. A message that does not fit into the socket now is sent in its turn when there is
    /// room. (If the daemon has closed its end, the next receive says so.)
    /// - Parameter mayBeLost: true for a message that the daemon does not wait for. It is dropped
    ///   if too many messages are in the outbox already.
    func send(_ message: AppMessage, mayBeLost: Bool = false) {
        guard let bytes = try? message.encoded() else { return }
        outbox.send(bytes, to: descriptor, mayBeLost: mayBeLost)
    }

    /// Sends waiting messages while there is room.
    func flush() { outbox.flush(to: descriptor) }

    /// Sends all waiting messages before the process ends, if the daemon reads them soon.
    func drain() { outbox.drain(to: descriptor) }

    func close() {
        Glibc.close(descriptor)
        unsafe buffer.deallocate()
        unsafe descriptorBuffer.deallocate()
    }
}
