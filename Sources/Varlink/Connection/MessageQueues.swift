/// Divides a stream of bytes into messages at its NULs, and remembers which descriptors came with
/// which message.
struct InputBuffer: Sendable {
    /// At most this many bytes stay allocated between messages, so that an idle connection is
    /// small.
    static let idleCapacity = 16 << 10
    /// A longer message gets room for the longest message at once. Unused memory costs nothing, but
    /// growing step by step would copy megabytes and make others wait.
    private static let largeByteCount = 128 << 10

    private var bytes: [UInt8] = []
    /// The start of the first message that has not been taken yet.
    private var head = 0
    /// There is no NUL between `head` and this position.
    private var scanned = 0
    /// Where each message with descriptors begins, and how many descriptors it has, in order.
    private var batches: [(start: Int, count: Int)] = []

    var byteCount: Int { bytes.count - head }

    /// Appends the result of one read. Its descriptors belong to the last message that begins in
    /// these bytes, because a read may return the end of a write without descriptors followed by a
    /// whole write with descriptors, but never more than that (unix(7)).
    mutating func append(
        _ chunk: Span<UInt8>, descriptorCount: Int, limits: Limits
    ) throws(ProtocolViolation) {
        let base = bytes.count
        if base > Self.largeByteCount, bytes.capacity - base < chunk.count {
            bytes.reserveCapacity(max(limits.messageByteCount, base) + chunk.count)
        }
        unsafe chunk.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        guard descriptorCount > 0 else { return }
        guard descriptorCount <= limits.messageDescriptorCount else {
            throw .tooManyDescriptors(limit: limits.messageDescriptorCount)
        }
        var start = bytes.count - 1
        while start > base, bytes[start - 1] != 0 { start -= 1 }
        guard start == head || start > base || (start > 0 && bytes[start - 1] == 0) else {
            throw .strayDescriptors
        }
        batches.append((start, descriptorCount))
    }

    /// The number of bytes in the next message, without its NUL; nil if it is not complete.
    mutating func nextByteCount() -> Int? {
        scanned = endOfMessage()
        return scanned < bytes.count ? scanned - head : nil
    }

    /// Takes the next complete message. Calls `body` with the message, without its NUL, and with
    /// the number of its descriptors.
    mutating func takeMessage<T>(
        limits: Limits,
        _ body: (Span<UInt8>, Int) throws(ProtocolViolation) -> T
    ) throws(ProtocolViolation) -> T? {
        scanned = endOfMessage()
        guard scanned - head < limits.messageByteCount else {
            throw .messageTooLong(limit: limits.messageByteCount)
        }
        guard scanned < bytes.count else { return nil }
        var descriptorCount = 0
        if let batch = batches.first, batch.start == head {
            descriptorCount = batch.count
            batches.removeFirst()
        }
        let result = try body(bytes.span.extracting(head..<scanned), descriptorCount)
        head = scanned + 1
        scanned = head
        compact()
        return result
    }

    /// The position of the first NUL in the part that was not scanned yet, or the end.
    private func endOfMessage() -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var index = scanned
            // Scans eight bytes at a time: the first zero byte is the first whose highest bit the
            // borrow sets.
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let zeros = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
                if zeros != 0 { return index + zeros.littleEndian.trailingZeroBitCount / 8 }
                index += 8
            }
            while index < bytes.count, unsafe bytes[index] != 0 { index += 1 }
            return index
        }
    }

    private mutating func compact() {
        if head == bytes.count {
            if bytes.capacity > Self.idleCapacity { bytes = [] }
            bytes.removeAll(keepingCapacity: true)
        } else if head > Self.idleCapacity, head > bytes.count / 2 {
            bytes.removeFirst(head)
            for index in batches.indices { batches[index].start -= head }
        } else {
            return
        }
        scanned -= head
        head = 0
    }
}

/// Messages that wait to be sent, one after the other, and the positions at which descriptors must
/// be sent with them.
struct OutputQueue: Sendable {
    /// At most this many bytes stay allocated while nothing is queued.
    static let idleCapacity = 16 << 10

    private var bytes: [UInt8] = []
    private var head = 0
    private var batches: [(start: Int, count: Int)] = []

    var byteCount: Int { bytes.count - head }

    /// Appends a message that `body` writes, and its NUL.
    mutating func append(descriptorCount: Int, _ body: (inout JSONWriter) -> Void) {
        if descriptorCount > 0 { batches.append((bytes.count, descriptorCount)) }
        var writer = JSONWriter(appendingTo: take())
        body(&writer)
        bytes = writer.takeBytes()
        bytes.append(0)
    }

    private mutating func take() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }

    /// Calls `body` with the bytes that one write may send, and the number of descriptors that go
    /// with them.
    func next<T, Failure: Error>(
        _ body: (Span<UInt8>, _ descriptorCount: Int) throws(Failure) -> T
    ) throws(Failure) -> T? {
        guard head < bytes.count else { return nil }
        var end = bytes.count
        var count = 0
        if let first = batches.first {
            if first.start == head {
                count = first.count
                if batches.count > 1 { end = batches[1].start }
            } else {
                end = first.start
            }
        }
        return try body(bytes.span.extracting(head..<end), count)
    }

    /// Records that this many bytes of `next` were sent, with all its descriptors.
    mutating func consume(_ byteCount: Int) {
        guard byteCount > 0 else { return }
        if let first = batches.first, first.start == head { batches.removeFirst() }
        head += byteCount
        precondition(head <= bytes.count, "more was sent than was queued")
        if head == bytes.count {
            if bytes.capacity > Self.idleCapacity { bytes = [] }
            bytes.removeAll(keepingCapacity: true)
            head = 0
        } else if head > Self.idleCapacity, head > bytes.count / 2 {
            bytes.removeFirst(head)
            for index in batches.indices { batches[index].start -= head }
            head = 0
        }
    }
}
