import GreenroomLinux

/// Bytes that were read from one descriptor and will be written to another.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var start = 0

    enum Received {
        case some, end, blocked, failed
    }

    var isEmpty: Bool { start == bytes.count }

    /// What was not written yet.
    var waiting: ArraySlice<UInt8> { bytes[start...] }

    mutating func append(_ byte: UInt8?) {
        if let byte { bytes.append(byte) }
    }

    /// Reads up to `byteCount` bytes, which replace the bytes that were written.
    @discardableResult
    mutating func read(from source: FileDescriptor, _ byteCount: Int) -> Received {
        var chunk = [UInt8](repeating: 0, count: byteCount)
        let result: Result<Int?, SystemError> = unsafe chunk.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in unsafe try source.read(into: buffer) }
        }
        switch result {
        case .success(let count?) where count > 0:
            bytes = Array(chunk[..<count])
            start = 0
            return .some
        case .success(nil): return .blocked
        case .success: return .end
        case .failure: return .failed
        }
    }

    /// Removes carriage returns before newlines, for a terminal that adds them too. The app's pty
    /// has added them already.
    mutating func dropReturnsBeforeNewlines() {
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count - start)
        for byte in bytes[start...] {
            if byte == UInt8(ascii: "\n"), kept.last == UInt8(ascii: "\r") { kept.removeLast() }
            kept.append(byte)
        }
        (bytes, start) = (kept, 0)
    }

    /// Writes as much as the sink takes.
    /// - Returns: false if the other end is closed.
    @discardableResult
    mutating func write(to sink: FileDescriptor) -> Bool {
        guard !isEmpty else { return true }
        let result: Result<Int?, SystemError> = unsafe bytes[start...].withUnsafeBytes { buffer in
            Result { () throws(SystemError) in unsafe try sink.write(buffer) }
        }
        switch result {
        case .success(let count):
            start += count ?? 0
            return true
        case .failure: return false
        }
    }
}
