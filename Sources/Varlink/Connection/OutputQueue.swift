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
