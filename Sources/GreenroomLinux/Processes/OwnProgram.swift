internal import Glibc

/// This process's program.
public enum OwnProgram {
    /// The path of the program's file (readlink of /proc/self/exe). Read this early: once the file
    /// has been replaced, the path ends in "(deleted)".
    public static var path: String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : ""
    }

    /// The variables, as `NAME=VALUE` (environ(7)). What is not UTF-8 is repaired.
    public static var environment: [String] {
        var entries: [String] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            unsafe entries.append(String(cString: entry))
            unsafe next += 1
        }
        return entries
    }

    /// Replaces this process's program (execv). The environment, children, signal mask and
    /// descriptors that are not close-on-exec stay. Returns only by throwing.
    public static func execute(_ path: String, _ arguments: [String]) throws(SystemError) {
        let strings = unsafe arguments.map { unsafe strdup($0) }
        defer { unsafe strings.forEach { unsafe free($0) } }
        let vector = unsafe strings + [nil]
        try systemCall("execv", on: path) { unsafe execv(path, vector) }
    }
}
