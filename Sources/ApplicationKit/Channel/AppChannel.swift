internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The app's end of the socket to the daemon.
@MainActor
@safe final class AppChannel {
    let descriptor: CInt
    /// For one message at a time; the memory is untouched until a large one comes.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// A message with the descriptors that came with it.
    struct Incoming {
        var message: DaemonMessage
        /// Whoever gets this closes them.
        var descriptors: [CInt]
    }

    enum Reception {
        case message(Incoming)
        /// Nothing is there now.
        case nothing
        /// Something that this side does not understand; it has been answered.
        case refused
        case end
    }

    func receive(waiting: Bool) -> Reception {
        var descriptors = [CInt](repeating: -1, count: WireFormat.descriptorLimit)
        var count = descriptors.count
        let size = unsafe cak_receive(
            descriptor, buffer.baseAddress!, buffer.count, &descriptors, &count, waiting)
        descriptors.removeLast(descriptors.count - count)
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

    /// The strings of a launch that are too many for a datagram.
    private static func read(_ file: CInt, _ byteCount: Int) throws(WireError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var done = 0
        while done < byteCount {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread($0.baseAddress! + done, byteCount - done, file, done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .wrongLength(announced: byteCount, received: done)
            }
            done += count
        }
        return bytes

        func pread(
            _ memory: UnsafeMutableRawPointer, _ size: Int, _ file: CInt, _ offset: Int
        ) -> Int { unsafe Glibc.pread(file, memory, size, off_t(offset)) }
    }

    /// What cannot be said is dropped: a daemon that is gone shows when we listen, and one that does not
    /// read for long must not stop the app.
    /// - Parameter waiting: for a moment, for what must not be dropped only because the daemon is busy.
    func send(_ message: AppMessage, waiting: Bool = false) {
        guard let bytes = try? message.encoded() else { return }
        var sent: Int
        var mayWait = waiting
        repeat {
            sent = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress, $0.count,
                    CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
        } while sent < 0 && (errno == EINTR || errno == EAGAIN && waitForRoom(&mayWait))
    }

    private static let patienceMilliseconds: CInt = 2000

    /// Once.
    private func waitForRoom(_ mayWait: inout Bool) -> Bool {
        guard mayWait else { return false }
        mayWait = false
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, Self.patienceMilliseconds) == 1
    }

    func close() {
        Glibc.close(descriptor)
        unsafe buffer.deallocate()
    }
}
