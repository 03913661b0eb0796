internal import Glibc

/// A file open for inspection. It is read in bounded pieces and never mapped: truncating a mapped
/// file kills the process that reads the mapping.
struct ExecutableFile: ~Copyable {
    private let descriptor: CInt
    let identity: FileIdentity
    let mode: mode_t

    enum OpenFailure: Error {
        case missing
        case unreadable
    }

    /// Opens the file (open(2)), without waiting for the other end of a FIFO and without acquiring
    /// a controlling terminal.
    init(path: String) throws(OpenFailure) {
        let found: FileDescriptor
        do throws(PathOwners.Objection) { found = try PathOwners.openPathOnly(path) } catch {
            throw error.isAbsence || error.systemError.code == ELOOP ? .missing : .unreadable
        }
        let descriptor = unsafe open(
            "/proc/self/fd/\(found.rawValue)", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? .missing : .unreadable
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            close(descriptor)
            throw .unreadable
        }
        self.descriptor = descriptor
        identity = FileIdentity(status)
        mode = status.st_mode
    }

    deinit { close(descriptor) }

    var byteCount: UInt64 { UInt64(max(identity.byteCount, 0)) }

    /// Up to `count` bytes from `offset`; fewer at the end of the file, none after it. pread(2)
    func bytes(at offset: UInt64, upTo count: Int) -> [UInt8] {
        guard offset < byteCount, count > 0 else { return [] }
        let wanted = Int(min(UInt64(count), byteCount - offset))
        return unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            while filled < wanted {
                let got = unsafe pread(
                    descriptor, buffer.baseAddress! + filled, wanted - filled,
                    off_t(offset) + filled)
                if got < 0, errno == EINTR { continue }
                if got <= 0 { return }
                filled += got
            }
        }
    }

    /// Exactly `count` bytes, or nil if the file does not have them.
    func exactly(_ count: Int, at offset: UInt64) -> [UInt8]? {
        let bytes = bytes(at: offset, upTo: count)
        return bytes.count == count ? bytes : nil
    }

    /// The NUL-terminated string at an offset; nil if it does not end within `limit` bytes.
    func string(at offset: UInt64, limit: Int) -> String? {
        let bytes = bytes(at: offset, upTo: limit)
        guard let end = bytes.firstIndex(of: 0) else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}

extension [UInt8] {
    /// A little-endian number. The caller has checked that the bytes are there.
    func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        var value: Value = 0
        for index in (0..<MemoryLayout<Value>.size).reversed() {
            value = value << 8 | Value(truncatingIfNeeded: self[offset + index])
        }
        return value
    }
}
