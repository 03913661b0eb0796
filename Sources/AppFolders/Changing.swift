internal import Glibc
public import GreenroomLinux

/// Atomic changes in folders of manifests.
public enum AppFolderChange {
    /// Creates a folder and those above it that are missing (mkdir(2)).
    public static func makeFolder(
        _ path: String, mode: UInt32 = 0o755
    ) throws(SystemError) {
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return }
        let code = errno
        guard code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw SystemError(code: code, call: "mkdir", subject: path)
        }
        try makeFolder(String(path[..<slash]), mode: mode)
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw SystemError(code: errno, call: "mkdir", subject: path)
        }
    }

    /// Creates a link, or replaces one with another target (symlink(2)).
    /// - Returns: false if the link was already there.
    public static func link(_ path: String, to target: String) throws(SystemError) -> Bool {
        let former = Self.target(of: path)
        if former == target { return false }
        // A link is replaced by rename(2), so that either the old or the new link always exists.
        let new = former == nil ? path : unfinished(path)
        guard unsafe symlink(target, new) == 0 else {
            throw SystemError(code: errno, call: "symlink", subject: path)
        }
        if former != nil { try install(new, as: path) }
        return true
    }

    /// The target of a link; nil if there is no link (readlink(2)).
    public static func target(of path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe readlink(path, $0.baseAddress!, $0.count)
        }
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Removes a file (unlink(2)).
    public static func remove(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) == 0 else {
            throw SystemError(code: errno, call: "unlink", subject: path)
        }
    }

    /// Removes a folder if it has become empty (rmdir(2)).
    public static func removeIfEmpty(_ folder: String) { _ = unsafe rmdir(folder) }

    /// Writes a file, but never through a link or into a pipe that another user may have put there.
    /// - Parameters:
    ///   - original: a file whose owner and mode the new file gets.
    ///   - mode: the mode without an original. Usually, everybody may read the new file.
    public static func write(
        _ bytes: [UInt8], to path: String, like original: String? = nil, mode: UInt32 = 0o644
    ) throws(SystemError) {
        let file = try FileDescriptor.open(
            path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        var status = stat()
        guard unsafe fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EEXIST, call: "open", subject: path)
        }
        let hasOriginal = original.map { unsafe stat($0, &status) == 0 } ?? false
        // An ordinary user cannot change the owner, and need not change it.
        if hasOriginal { _ = fchown(file.rawValue, status.st_uid, status.st_gid) }
        let mode = hasOriginal ? status.st_mode & 0o777 : mode
        guard fchmod(file.rawValue, mode) == 0 else {
            throw SystemError(code: errno, call: "fchmod", subject: path)
        }
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes {
                unsafe Glibc.write(file.rawValue, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(code: errno, call: "write", subject: path) }
            start += count
        }
        // Without this, a crash could leave an empty file, which would mask the app.
        _ = fsync(file.rawValue)
    }

    /// Writes a file at once: either the old or the new one always exists, also if another process
    /// writes the same file.
    public static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o644
    ) throws(SystemError) {
        let new = unfinished(path)
        do throws(SystemError) {
            try write(bytes, to: new, mode: mode)
            try install(new, as: path)
        } catch {
            // No other process would use this name again.
            _ = unsafe unlink(new)
            throw error
        }
    }

    /// The name of a file or link that takes the place of another one once it is whole. It is this
    /// process's alone.
    private static func unfinished(_ path: String) -> String { "\(path).new-\(getpid())" }

    /// Replaces one file with another (rename(2)).
    public static func install(_ path: String, as destination: String) throws(SystemError) {
        guard unsafe rename(path, destination) == 0 else {
            throw SystemError(code: errno, call: "rename", subject: destination)
        }
    }
}
