internal import CGreenroomLinux
internal import Glibc
internal import Synchronization

/// A descriptor with one owner, closed when this object is released. It is close-on-exec from
/// birth, so only a ``SpawnRequest`` passes it to another program.
public final class FileDescriptor: Sendable {
    /// -1 after ownership was given up, so that a late use traps instead of reaching a number that
    /// is in use again.
    private let number: Atomic<CInt>
    /// The stranger who owns the descriptor; nil if it is ours. A stranger's descriptor is never
    /// closed here, because closing it could take any time.
    private let stranger: Stranger?
    private let share: Stranger.Share

    /// Takes over an open descriptor that nobody else closes.
    public init(owning rawValue: CInt) {
        precondition(rawValue >= 0, "not a descriptor")
        number = Atomic(rawValue)
        stranger = nil
        share = .sent
    }

    /// Takes over an open descriptor that a stranger sent, which the disposer will close.
    public init(owning rawValue: CInt, of stranger: Stranger, _ share: Stranger.Share = .sent) {
        precondition(rawValue >= 0, "not a descriptor")
        number = Atomic(rawValue)
        self.stranger = stranger
        self.share = share
        stranger.disposer.took(rawValue, of: stranger.user, share)
    }

    deinit {
        let rawValue = number.load(ordering: .relaxed)
        if rawValue >= 0 { end(rawValue) }
    }

    private func end(_ rawValue: CInt) {
        if let stranger {
            stranger.disposer.dispose(rawValue, of: stranger.user, share)
        } else {
            // The mark of a slow descriptor ends before its number is used again.
            gr_disposal_mark(rawValue, GR_DISPOSAL_OWN)
            _ = Glibc.close(rawValue)
        }
    }

    /// Leaves the descriptor to the kernel if this process ends before it is closed, because closing
    /// it takes several milliseconds. Otherwise the spawner and the next supervisor, which wait for
    /// the end of other descriptors, would wait for that, too (disposal.c).
    func leaveToKernelAtEnd() { gr_disposal_mark(rawValue, GR_DISPOSAL_SLOW) }

    /// Whether a stranger owns the descriptor.
    public var isStrangers: Bool { stranger != nil }

    /// Turns this descriptor into a stranger's.
    public func given(to stranger: Stranger, _ share: Stranger.Share) -> FileDescriptor {
        FileDescriptor(owning: release(), of: stranger, share)
    }

    /// The number, valid for as long as this object lives.
    public var rawValue: CInt {
        let rawValue = number.load(ordering: .relaxed)
        precondition(rawValue >= 0, "the descriptor was released")
        return rawValue
    }

    /// Gives up ownership: the caller closes the returned number. Not allowed for a stranger's
    /// descriptor.
    public func release() -> CInt {
        precondition(stranger == nil, "a stranger's descriptor is closed by the disposer")
        let rawValue = number.exchange(-1, ordering: .acquiringAndReleasing)
        precondition(rawValue >= 0, "the descriptor was released")
        return rawValue
    }

    /// A second descriptor of the same open file (fcntl F_DUPFD_CLOEXEC).
    public func duplicate(
        atLeast lowest: CInt = 0
    ) throws(SystemError) -> FileDescriptor {
        let copy = try systemCall("dup") { gr_dup_cloexec(rawValue, lowest) }
        guard let stranger else { return FileDescriptor(owning: copy) }
        return FileDescriptor(owning: copy, of: stranger, share)
    }

    /// Gives the descriptor a number of at least `lowest` (fcntl F_DUPFD_CLOEXEC). Call this before
    /// anybody has used the present number. It is meant for descriptors that a process with many
    /// children keeps for long: a child starts with a copy of all descriptors below the highest
    /// that it is given (``SpawnRequest``), and those above cost nothing. If no such number is
    /// free, nothing changes.
    public func moveAside(to lowest: CInt) {
        guard stranger == nil, rawValue < lowest else { return }
        let aside = gr_dup_cloexec(rawValue, lowest)
        guard aside >= 0 else { return }
        _ = Glibc.close(number.exchange(aside, ordering: .acquiringAndReleasing))
    }

    /// Whether this is a directory, as far as the kernel knows by itself: fstat(2) would wait for
    /// the server of the file system, which may be a stranger's process (fuse(4)). An O_PATH
    /// descriptor suffices.
    public var isDirectory: Bool { gr_file_type(rawValue) == S_IFDIR }

    /// The file and its path, as far as the kernel knows without asking a server; nil if it does not
    /// know.
    public var place: FilePlace? {
        var status = gr_file_status()
        guard unsafe gr_look(rawValue, "", &status) == 0, let path = try? path() else { return nil }
        return FilePlace(device: status.device, inode: status.inode, path: path)
    }

    public var isCharacterDevice: Bool { gr_file_type(rawValue) == S_IFCHR }

    /// O_PATH (open(2)), which the C library's module hides. The value is the same on x86-64 and
    /// aarch64.
    public static let pathOnly: CInt = 0o10000000

    /// Opens a file (open); `mode` is used with `O_CREAT`.
    public static func open(
        _ path: String, _ flags: CInt, mode: UInt32 = 0
    ) throws(SystemError) -> FileDescriptor {
        FileDescriptor(
            owning: try systemCall("open", on: path) { unsafe gr_open(path, flags, mode) })
    }

    /// Opens a file in this directory (openat).
    public func open(
        _ path: String, _ flags: CInt, mode: UInt32 = 0
    ) throws(SystemError) -> FileDescriptor {
        FileDescriptor(
            owning: try systemCall("open", on: path) {
                unsafe gr_openat(rawValue, path, flags, mode)
            })
    }

    /// The path of the open file, as this process would name it (readlink of /proc/self/fd).
    public func path() throws(SystemError) -> String {
        let name = "/proc/self/fd/\(rawValue)"
        return try unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) {
            buffer throws(SystemError) in
            let count = try systemCall("readlink", on: name) {
                unsafe readlink(
                    name, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
            }
            return unsafe String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    /// Both ends of a pipe (pipe2).
    public static func pipe() throws(SystemError) -> (
        reading: FileDescriptor, writing: FileDescriptor
    ) {
        var ends: InlineArray<2, CInt> = [-1, -1]
        var span = ends.mutableSpan
        try systemCall("pipe") {
            unsafe span.withUnsafeMutableBufferPointer { unsafe gr_pipe($0.baseAddress!) }
        }
        return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    }

    public func setNonblocking(_ on: Bool) throws(SystemError) {
        try systemCall("fcntl") { gr_set_nonblocking(rawValue, on) }
    }

    /// Only for a descriptor that must stay open across this process's own exec.
    public func setCloseOnExec(_ on: Bool) throws(SystemError) {
        try systemCall("fcntl") { gr_set_cloexec(rawValue, on) }
    }

    /// Writes from the buffer (write). Returns the number of bytes written; nil if the call would
    /// block.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int? {
        try systemCallUnlessBlocked("write") {
            unsafe Glibc.write(rawValue, bytes.baseAddress, bytes.count)
        }
    }

    /// Reads into the buffer (read). Returns 0 at the end; nil if the call would block.
    public func read(into bytes: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        try systemCallUnlessBlocked("read") {
            unsafe Glibc.read(rawValue, bytes.baseAddress, bytes.count)
        }
    }

    /// The identity of the open file: device and inode (fstat).
    public func identity() throws(SystemError) -> (device: UInt64, inode: UInt64) {
        var status = stat()
        try systemCall("fstat") { unsafe fstat(rawValue, &status) }
        return (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
