internal import Glibc

/// What stat(2) says of a path, links followed.
public struct FileStatus: Sendable {
    public enum Kind: Sendable {
        case file, folder, characterDevice, other
    }

    public let kind: Kind
    public let identity: FileIdentity

    /// Nil when there is nothing that can be seen.
    public init?(path: String) {
        guard let status = PathOwners.status(of: path) else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFCHR: kind = .characterDevice
        case _: kind = .other
        }
        identity = FileIdentity(status)
    }

    /// As systemd understands it: a link to /dev/null, or a file without a byte, stands for nothing.
    public var isMask: Bool {
        kind == .characterDevice || (kind == .file && identity.byteCount == 0)
    }
}
