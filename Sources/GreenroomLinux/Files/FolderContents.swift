internal import CGreenroomLinux
internal import Glibc

/// The contents of a folder (readdir(3)).
public enum FolderContents {
    /// The names, including those of hidden files, in no order.
    ///
    /// - Parameter limit: at most this many entries are read.
    public static func names(
        in path: String, atMost limit: Int = .max
    ) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else {
            throw SystemError(code: errno, call: "opendir", subject: path)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Whether the folder is empty; true also if it cannot be read.
    public static func isEmpty(_ path: String) -> Bool {
        // Other users may control parts of the path.
        guard let folder = try? PathOwners.openPathOnly(path) else { return true }
        return (try? names(in: "/proc/self/fd/\(folder.rawValue)", atMost: 1))?.isEmpty ?? true
    }

    /// Whether a path matches the pattern (glob(7)).
    ///
    /// - Parameter limit: at most this many names, of all folders together, are read.
    public static func hasMatch(_ pattern: String, atMost limit: Int) -> Bool {
        unsafe gr_matches(pattern, CInt(clamping: limit))
    }
}
