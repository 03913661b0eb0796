internal import Glibc

/// Files of a few kilobytes that the kernel generates: /proc and cgroups.
extension FileDescriptor {
    /// The whole file as text, from its beginning; bytes that are not UTF-8 are replaced.
    func readText() throws(SystemError) -> String {
        try unsafe withUnsafeTemporaryAllocation(
            byteCount: SmallFile.chunkByteCount, alignment: 1
        ) { chunk throws(SystemError) in
            var bytes: [UInt8] = []
            while true {
                let count = try systemCall("pread") {
                    unsafe pread(rawValue, chunk.baseAddress, chunk.count, off_t(bytes.count))
                }
                if count == 0 { return String(decoding: bytes, as: UTF8.self) }
                unsafe bytes.append(contentsOf: chunk[..<count])
            }
        }
    }

    /// The whole file as bytes, from its beginning (fstat, pread); `EFBIG` if it is longer than the
    /// limit.
    public func readBytes(atMost limit: Int) throws(SystemError) -> [UInt8] {
        var status = stat()
        try systemCall("fstat") { unsafe fstat(rawValue, &status) }
        guard status.st_size <= limit else { throw SystemError(code: EFBIG, call: "fstat") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var offset = 0
        while offset < bytes.count {
            let count = try systemCall("pread") {
                unsafe bytes.withUnsafeMutableBytes {
                    unsafe pread(
                        rawValue, $0.baseAddress! + offset, $0.count - offset, off_t(offset))
                }
            }
            if count == 0 { throw SystemError(code: EIO, call: "pread") }
            offset += count
        }
        return bytes
    }

    /// Writes a short text in one call, as the kernel's files require.
    public func writeText(_ text: String) throws(SystemError) {
        var text = text
        try systemCall("write") {
            text.withUTF8 { unsafe Glibc.write(rawValue, $0.baseAddress, $0.count) }
        }
    }
}

/// Files of a few kilobytes by their paths: /proc, cgroups, manifests.
public enum SmallFile {
    /// One page. Most such files are shorter; mountinfo takes a few rounds.
    static let chunkByteCount = 4096

    /// Replaces a file with one that contains this text, either completely or not at all
    /// (rename(2)).
    public static func replace(
        _ path: String, with text: String, mode: UInt32 = 0o644
    ) throws(SystemError) {
        try replace(path, with: Array(text.utf8), mode: mode)
    }

    public static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o644
    ) throws(SystemError) {
        // The draft's name begins with a dot, so that it cannot be another app's file: an app may
        // be called X.new.
        let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let draft = String(path[..<name] + "." + path[name...] + ".new")
        do throws(SystemError) {
            let file = try FileDescriptor.open(
                draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: mode)
            var offset = 0
            while offset < bytes.count {
                offset += try systemCall("write", on: draft) {
                    unsafe bytes.withUnsafeBytes {
                        unsafe Glibc.write(
                            file.rawValue, $0.baseAddress! + offset, $0.count - offset)
                    }
                }
            }
            try systemCall("rename", on: path) { unsafe rename(draft, path) }
        } catch {
            _ = unsafe unlink(draft)
            throw error
        }
    }

    /// The whole file as text.
    public static func text(of path: String) throws(SystemError) -> String {
        try FileDescriptor.open(path, O_RDONLY).readText()
    }
}
