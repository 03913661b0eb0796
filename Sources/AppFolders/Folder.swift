internal import Glibc
internal import GreenroomLinux

/// Reads folders and small files.
enum Folder {
    /// At most this many names in a folder. Real folders have far fewer.
    static let nameLimit = 20_000

    /// The names in a folder, sorted, without hidden ones (readdir(3)). A folder that does not
    /// exist has none.
    /// - Throws: any error except that the folder does not exist.
    static func names(in path: String) throws(SystemError) -> [String] {
        do throws(SystemError) {
            return try FolderContents.names(in: path, atMost: nameLimit)
                .filter { !$0.hasPrefix(".") }.sorted()
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return [] }
            throw error
        }
    }

    /// The folder of a path, and the name in it.
    static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }

    /// The bytes of a file, which must not have more than `limit`.
    static func bytes(of path: String, atMost limit: Int) throws(SystemError) -> [UInt8] {
        let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        do throws(SystemError) { return try file.readBytes(atMost: limit) } catch {
            throw SystemError(code: error.code, call: error.call, subject: path)
        }
    }
}
