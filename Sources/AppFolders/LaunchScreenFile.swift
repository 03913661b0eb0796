internal import Glibc
public import GreenroomLinux
public import GreenroomManifest

/// Checks the file of a launch screen: it must exist, must not be too large, and should not be a
/// bare image.
public enum LaunchScreenFile {
    /// The largest file in bytes: "the launch screen is limited to 25 MB" (UIKit, "Responding to
    /// the launch of your app").
    public static let byteLimit = 25_000_000

    /// - Parameter owners: decides who may own the file, because the daemon opens it for apps of
    ///   any user.
    /// - Returns: what is wrong with the file; a fault if it cannot be shown.
    public static func look(_ path: String, _ owners: PathOwners) -> LaunchScreenFinding? {
        if let objection = owners.objection(to: path), !objection.isAbsence {
            return .fault("the launch screen \(path): \(objection)")
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return .fault("the launch screen \(path): \(SystemError.text(of: errno))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return .fault("the launch screen \(path) is not a file")
        }
        guard status.st_size <= byteLimit else {
            return .fault(
                "the launch screen \(path) has \(status.st_size) bytes; at most \(byteLimit) "
                    + "(25 MB) are shown")
        }
        guard isImage(path) else { return nil }
        return .doubt(
            "the launch screen \(path) is a bare image, which fits one screen only; name a "
                + "description of the interface instead")
    }

    /// Whether the file's first bytes are those of PNG, JPEG, GIF, BMP or WebP.
    private static func isImage(_ path: String) -> Bool {
        guard
            let file = try? FileDescriptor.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        else { return false }
        var bytes = [UInt8](repeating: 0, count: 12)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe (try? file.read(into: buffer)) ?? nil
        }
        bytes.removeLast(bytes.count - (count ?? 0))
        let beginnings: [[UInt8]] = [
            [0x89] + Array("PNG".utf8), [0xFF, 0xD8, 0xFF], Array("GIF8".utf8), Array("BM".utf8),
        ]
        if beginnings.contains(where: bytes.starts(with:)) { return true }
        return bytes.count == 12 && bytes.starts(with: "RIFF".utf8)
            && bytes[8...].elementsEqual("WEBP".utf8)
    }
}
