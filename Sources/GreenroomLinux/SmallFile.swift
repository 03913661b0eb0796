internal import Glibc

/// Files of a few kilobytes that the kernel makes up: /proc and cgroup.
extension FileDescriptor {
    /// The whole file as text, from its beginning; what is not UTF-8 is repaired.
    public func readText() throws(SystemError) -> String {
        var bytes: [UInt8] = []
        var end = false
        while !end {
            let chunk = try systemCall("pread") { () -> Int in
                var count = 0
                let start = bytes.count
                bytes.append(contentsOf: repeatElement(0, count: SmallFile.chunkByteCount))
                unsafe bytes.withUnsafeMutableBytes {
                    count = unsafe pread(
                        rawValue, $0.baseAddress! + start, SmallFile.chunkByteCount, off_t(start))
                }
                bytes.removeLast(SmallFile.chunkByteCount - max(count, 0))
                return count
            }
            end = chunk == 0
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a short text in one call, as such files demand.
    public func writeText(_ text: String) throws(SystemError) {
        var text = text
        try systemCall("write") {
            text.withUTF8 { unsafe Glibc.write(rawValue, $0.baseAddress, $0.count) }
        }
    }
}

public enum SmallFile {
    /// A page: most such files are shorter, and mountinfo takes a few rounds.
    static let chunkByteCount = 4096

    /// The whole file as text.
    public static func text(of path: String) throws(SystemError) -> String {
        try FileDescriptor.open(path, O_RDONLY).readText()
    }
}
