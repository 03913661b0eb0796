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

    private let descriptorBuffer = UnsafeMutablePointer<CInt>.allocate(
        capacity: WireFormat.descriptorLimit)

    /// What the daemon has not had room for.
    let outbox = Outbox()

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

    /// The strings of a launch that are too many for a datagram.
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

    /// Never waits: a daemon that does not read for long must not stop the app. What does not fit the
    /// socket now goes out in its order when there is room. (One that is gone shows when we listen.)
    /// - Parameter mayBeLost: a note that nobody waits for, not kept where too many wait already.
    func send(_ message: AppMessage, mayBeLost: Bool = false) {
        guard let bytes = try? message.encoded() else { return }
        outbox.send(bytes, to: descriptor, mayBeLost: mayBeLost)
    }

    /// Sends what waits, as far as there is room.
    func flush() { outbox.flush(to: descriptor) }

    /// Before the process ends: what waits goes out, if the daemon reads within a moment.
    func drain() { outbox.drain(to: descriptor) }

    func close() {
        Glibc.close(descriptor)
        unsafe buffer.deallocate()
        unsafe descriptorBuffer.deallocate()
    }
}
