internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// The app and the user that metrics belong to.
struct MetricKey: Hashable {
    var app: AppIdentifier
    var user: UInt32
}

/// The files of metrics, `STATE/metrics/USER/APP`. A file changes as a whole, so that a reader, or
/// a daemon that starts after a crash, sees the old content or the new one.
struct MetricFiles {
    private let directory: String

    /// In bytes; far more than the limits of `AppMetrics` allow.
    private static let byteLimit = 256 << 10
    private static let pageByteCount = 4096
    /// How long the file of an app that is not installed any more is kept, in seconds.
    private static let lifetime: time_t = 30 * 86_400

    init(stateDirectory: String) { directory = stateDirectory + "/metrics" }

    /// What was counted; nil if nothing was. If the file is damaged, the part that can be read.
    ///
    /// - Parameter complain: called with a description of what is wrong.
    func text(of key: MetricKey, _ complain: (String) -> Void = { _ in }) -> String? {
        let path = path(of: key)
        do throws(SystemError) {
            guard let lines = try StateLines(path: path, byteLimit: Self.byteLimit) else {
                return nil
            }
            if !lines.areWhole(by: Self.isKnown) {
                complain("\(path) is damaged; counting goes on from what can be read")
            }
            return lines.text
        } catch {
            complain("\(error); the counts in it are not used")
            return nil
        }
    }

    private static func isKnown(_ line: Substring) -> Bool {
        line.hasPrefix(" ")
            || ["delivered ", "total ", "current ", "pending ", "diagnostic "].contains {
                line.hasPrefix($0)
            }
    }

    func write(_ text: String, of key: MetricKey) throws(SystemError) {
        let path = path(of: key)
        if (try? overwrite(path, with: text)) == true { return }
        do throws(SystemError) { try SmallFile.replace(path, with: text, mode: 0o600) } catch {
            guard error.code == ENOENT else { throw error }
            makeDirectories(for: key)
            try SmallFile.replace(path, with: text, mode: 0o600)
        }
    }

    /// Overwrites the old text with a text that fits into a page, and the rest of the old text with
    /// blank lines, in a single call: if the daemon is killed, all of it is written or nothing.
    /// Making a new file and removing the old one would take a hundred times as long.
    private func overwrite(_ path: String, with text: String) throws(SystemError) -> Bool {
        var bytes = Array(text.utf8)
        guard bytes.count <= Self.pageByteCount else { return false }
        let file = try FileDescriptor.open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard unsafe fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= Self.pageByteCount
        else { return false }
        let rest = max(0, Int(status.st_size) - bytes.count)
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\n"), count: rest))
        return unsafe pwrite(file.rawValue, bytes, bytes.count, 0) == bytes.count
    }

    private func makeDirectories(for key: MetricKey) {
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        unsafe mkdir(String(directory[..<slash]), 0o755)
        unsafe mkdir(directory, 0o755)
        unsafe mkdir("\(directory)/\(key.user)", 0o755)
    }

    private func path(of key: MetricKey) -> String { "\(directory)/\(key.user)/\(key.app)" }

    /// Removes the files of apps that were last counted more than a month ago and are not installed
    /// any more.
    func prune(keeping isInstalled: (AppIdentifier) -> Bool) {
        let now = time(nil)
        for user in Self.names(in: directory) {
            for name in Self.names(in: "\(directory)/\(user)")
            where !isInstalled(AppIdentifier(name)) {
                let path = "\(directory)/\(user)/\(name)"
                var status = stat()
                guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                    now - status.st_mtim.tv_sec > Self.lifetime
                else { continue }
                unsafe unlink(path)
            }
        }
    }

    private static func names(in directory: String) -> [String] {
        ((try? FolderContents.names(in: directory)) ?? []).filter { !$0.hasPrefix(".") }
    }
}
