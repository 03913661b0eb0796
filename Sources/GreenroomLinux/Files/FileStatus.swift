internal import Glibc

/// What stat(2) says about a path, links followed.
public struct FileStatus: Sendable {
    public enum Kind: Sendable {
        case file, folder, characterDevice, other
    }

    public let kind: Kind
    public let identity: FileIdentity

    /// Returns nil if there is nothing at the path, or we may not see it.
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

    /// The status of the link itself; nil if the path is not a link. No stranger may serve the
    /// link's folder.
    public init?(ofLink path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
            return nil
        }
        kind = .other
        identity = FileIdentity(status)
    }

    /// Whether this file masks a unit, as in systemd: a link to /dev/null, or an empty file.
    public var isMask: Bool {
        kind == .characterDevice || (kind == .file && identity.byteCount == 0)
    }
}
