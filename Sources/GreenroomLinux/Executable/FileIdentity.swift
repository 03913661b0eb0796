internal import Glibc

/// Distinguishes states of a file without reading it: whether it was replaced (device, inode), was
/// written (size, modification), or got another owner, mode or capabilities (status change).
public struct FileIdentity: Equatable, Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    public var byteCount: Int64
    /// Nanoseconds since 1970, as the file system keeps them.
    public var modified: Int64
    public var changed: Int64

    public init(device: UInt64, inode: UInt64, byteCount: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.byteCount = byteCount
        self.modified = modified
        self.changed = changed
    }

    /// The file that the path names now, links followed; nil if there is none, or we may not see
    /// it. stat(2)
    public init?(path: String) {
        guard let status = PathOwners.status(of: path) else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        byteCount = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
