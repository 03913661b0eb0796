internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// Whose metrics: an app's, of one user.
struct MetricKey: Hashable {
    var app: AppIdentifier
    var user: UInt32
}

/// The files of metrics, `STATE/metrics/USER/APP`: each is replaced whole, so that a reader, and whoever
/// starts after a crash, sees the old or the new one.
struct MetricFiles {
    private let directory: String

    /// Far more than the limits of `AppMetrics` come to, in bytes.
    private static let byteLimit = 256 << 10
    /// Of an app that is not installed any more.
    private static let lifetime: time_t = 30 * 86_400

    init(stateDirectory: String) { directory = stateDirectory + "/metrics" }

    /// What was counted; nil if nothing was. A file that is damaged gives what of it makes sense.
    ///
    /// - Parameter complain: is told what is wrong.
    func text(of key: MetricKey, _ complain: (String) -> Void) -> String? {
        let path = path(of: key)
        do throws(SystemError) {
            guard let lines = try StateLines(path: path, byteLimit: Self.byteLimit) else {
                return nil
            }
            if !lines.areWhole(by: Self.isKnown) {
                complain("\(path) is damaged; what of it makes sense is counted on from")
            }
            return lines.text
        } catch {
            complain("\(error); what was counted there is left out")
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
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        unsafe mkdir(String(directory[..<slash]), 0o755)
        unsafe mkdir(directory, 0o755)
        unsafe mkdir("\(directory)/\(key.user)", 0o755)
        try SmallFile.replace(path(of: key), with: text, mode: 0o600)
    }

    private func path(of key: MetricKey) -> String { "\(directory)/\(key.user)/\(key.app)" }

    /// Of apps that have not been there for a month.
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
