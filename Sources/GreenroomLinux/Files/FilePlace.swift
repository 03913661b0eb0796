/// A file, and the path by which it was found: the same file may have several. (Its mount is not
/// part of this, because mounts have other numbers in another mount namespace.)
public struct FilePlace: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
    public let path: String
}
