import Glibc
import GreenroomLinux

/// The files below a folder, as far as they are looked at.
struct FilesBelow {
    /// More than a copy of settings has (`SettingsCopy`).
    static let depthLimit = 16
    private static let fileLimit = 20_000

    private var files: [String: FileIdentity] = [:]
    /// Whether there are no other files.
    private(set) var isComplete = true

    init(_ folder: String) { collect(folder, "", depth: 0) }

    /// The files that are new or different, relative to the folder.
    func changes(since before: Self) -> [String] {
        files.filter { before.files[$0.key] != $0.value }.keys.sorted()
    }

    private mutating func collect(_ folder: String, _ relative: String, depth: Int) {
        for name in (try? FolderContents.names(in: folder + "/" + relative)) ?? []
        where name != "." && name != ".." {
            guard files.count < Self.fileLimit else {
                isComplete = false
                return
            }
            let path = relative + name
            var status = stat()
            guard unsafe lstat(folder + "/" + path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < Self.depthLimit {
                    collect(folder, path + "/", depth: depth + 1)
                } else {
                    isComplete = false
                }
            } else {
                files[path] = FileIdentity(
                    device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
                    byteCount: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
                    changed: Self.nanoseconds(status.st_ctim))
            }
        }
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
