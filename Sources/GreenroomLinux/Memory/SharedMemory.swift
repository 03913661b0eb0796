internal import CGreenroomLinux
internal import Glibc

/// Memory that two processes share through a memfd (memfd_create, mmap). It is unmapped when this
/// object is released.
///
/// The users of the memory agree on its contents. This type only guarantees that the memory does
/// not move and that its size cannot change (it is sealed, or a file of our own), so that reading
/// never faults, unless a file's file system is full: see ``reserve(_:)``.
public final class SharedMemory: Sendable {
    /// The descriptor to pass to the other process.
    public let descriptor: FileDescriptor
    public let byteCount: Int
    private let base: UInt

    /// Makes new memory, zeroed, with a size that never changes.
    public static func create(byteCount: Int, name: String) throws(SystemError) -> SharedMemory {
        let descriptor = FileDescriptor(
            owning: try systemCall("memfd_create") { unsafe gr_memfd(name) })
        try systemCall("ftruncate") { ftruncate(descriptor.rawValue, off_t(byteCount)) }
        try systemCall("fcntl") { gr_memfd_seal(descriptor.rawValue, false) }
        return try SharedMemory(mapping: descriptor)
    }

    /// Maps memory that outlives every process that maps it: a file of our own, made if it does not
    /// exist. A kept file that is too short, because an older version made it, is extended and
    /// keeps its contents. On tmpfs the file costs what a memfd costs. Only its owner can shrink
    /// it.
    public static func file(
        at path: String, byteCount: Int, isKept: Bool
    ) throws(SystemError) -> SharedMemory {
        if isKept, let memory = try? existing(path, byteCount) { return memory }
        if unsafe unlink(path) != 0, errno != ENOENT {
            throw SystemError(code: errno, call: "unlink", subject: path)
        }
        let descriptor = try FileDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try systemCall("ftruncate") { ftruncate(descriptor.rawValue, off_t(byteCount)) }
        return try SharedMemory(mapping: descriptor)
    }

    private static func existing(
        _ path: String, _ byteCount: Int
    ) throws(SystemError) -> SharedMemory {
        let descriptor = try FileDescriptor.open(path, O_RDWR | O_NOFOLLOW)
        var status = stat()
        try systemCall("fstat") { unsafe fstat(descriptor.rawValue, &status) }
        if status.st_size < byteCount {
            try systemCall("ftruncate") { ftruncate(descriptor.rawValue, off_t(byteCount)) }
        }
        return try SharedMemory(mapping: descriptor)
    }

    /// Maps the whole of memory that another process created.
    public init(mapping descriptor: FileDescriptor) throws(SystemError) {
        var status = stat()
        try systemCall("fstat") { unsafe fstat(descriptor.rawValue, &status) }
        let byteCount = Int(status.st_size)
        let base = try systemCall("mmap") {
            unsafe Int(
                bitPattern: mmap(
                    nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.rawValue, 0))
        }
        self.descriptor = descriptor
        self.byteCount = byteCount
        self.base = UInt(bitPattern: base)
        // For a file on a disk, the kernel would otherwise read 128 KiB around every page that is
        // touched.
        _ = unsafe madvise(baseAddress, byteCount, MADV_RANDOM)
    }

    /// Makes the file system allocate space for a part (posix_fallocate). Otherwise, on a full file
    /// system, the first access to a page ends the process with SIGBUS.
    public func reserve(_ part: Range<Int>) throws(SystemError) {
        while true {
            let code = posix_fallocate(
                descriptor.rawValue, off_t(part.lowerBound), off_t(part.count))
            if code == 0 { return }
            if code != EINTR { throw SystemError(code: code, call: "posix_fallocate") }
        }
    }

    deinit { unsafe munmap(baseAddress, byteCount) }

    /// The first byte; page-aligned, valid for as long as this object lives.
    public var baseAddress: UnsafeMutableRawPointer {
        unsafe UnsafeMutableRawPointer(bitPattern: base)!
    }
}

/// Bytes in a memfd that nobody can change any more, so that it is safe to pass to another process.
public enum SealedFile {
    /// Copies the bytes into a new sealed memfd (memfd_create, F_SEAL_WRITE).
    public static func create(
        _ bytes: UnsafeRawBufferPointer, name: String
    ) throws(SystemError) -> FileDescriptor {
        let descriptor = FileDescriptor(
            owning: try systemCall("memfd_create") { unsafe gr_memfd(name) })
        var offset = 0
        while offset < bytes.count {
            offset += try systemCall("pwrite") {
                unsafe pwrite(
                    descriptor.rawValue, bytes.baseAddress! + offset, bytes.count - offset,
                    off_t(offset))
            }
        }
        try systemCall("fcntl") { gr_memfd_seal(descriptor.rawValue, true) }
        return descriptor
    }
}
