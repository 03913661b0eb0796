internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// What launches of apps have taught, kept across restarts of the daemon and of the machine: a file
/// of lines for each app and kind, `STATE/learned/USER/APP.KIND`.
///
/// The files are the daemon's. If they were the users' own, a user could make the daemon wait for a
/// file (fcntl(2), F_SETLEASE). Still, what the lines say has come from processes of the app's
/// user. So whoever reads them checks them as if they had just come from there, and uses them for
/// this user's prewarms alone.
struct LearnedFiles: Sendable {
    enum Kind: String {
        /// `ImportLists`.
        case imports
        /// `LibraryLearner`.
        case libraries
    }

    private let directory: String

    init(stateDirectory: String) { directory = stateDirectory + "/learned" }

    /// In bytes: twice what an inspection may report, because what is recorded may be as long.
    private static let byteLimit = 4 << 20
    /// The last line. A file without it was cut, and half a list of variables is worse than none.
    private static let end = "end"

    private func folder(of user: UInt32) -> String { "\(directory)/\(user)" }

    private func path(_ kind: Kind, of app: AppIdentifier, _ user: UInt32) -> String {
        "\(folder(of: user))/\(app).\(kind.rawValue)"
    }

    /// - Returns: the lines; nil if there is no such file, or if it was not written to its end.
    func lines(_ kind: Kind, of app: AppIdentifier, _ user: UInt32) -> [Substring]? {
        guard
            let lines = try? StateLines(path: path(kind, of: app, user), byteLimit: Self.byteLimit)?
                .lines,
            let last = lines.last, last == Self.end
        else { return nil }
        return lines.dropLast()
    }

    /// Replaces the file. If that fails, there is no file, and everything is learned again after a
    /// restart.
    func write(_ lines: [String], _ kind: Kind, of app: AppIdentifier, _ user: UInt32) {
        let text = (lines + [Self.end]).map { $0 + "\n" }.joined()
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        unsafe mkdir(String(directory[..<slash]), 0o755)
        for path in [directory, folder(of: user)] { unsafe mkdir(path, 0o700) }
        do throws(SystemError) {
            try SmallFile.replace(path(kind, of: app, user), with: text, mode: 0o600)
        } catch { remove(kind, of: app, user) }
    }

    func remove(_ kind: Kind, of app: AppIdentifier, _ user: UInt32) {
        unsafe unlink(path(kind, of: app, user))
    }

    /// Removes the files of all users, for an app that this daemon has never installed.
    func removeAll(_ kind: Kind, of app: AppIdentifier) {
        for name in (try? FolderContents.names(in: directory)) ?? [] {
            if let user = UInt32(name) { remove(kind, of: app, user) }
        }
    }

    /// A list that changed is written at once. The times of launches change with every launch, so
    /// they are written this long after a change, and when the daemon ends.
    static let timesDelay = Duration.seconds(60)

    // MARK: The secret of digests

    private var secretPath: String { directory + "/secret" }

    /// The secret of the digests (`KeyedDigest`) in these files. After a boot the records are gone,
    /// and digests are made with this secret again.
    var secret: (UInt64, UInt64)? {
        guard let lines = try? StateLines(path: secretPath, byteLimit: 100)?.lines,
            let words = lines.first?.split(separator: " "), words.count == 2,
            let first = UInt64(words[0]), let second = UInt64(words[1]), first != 0, second != 0
        else { return nil }
        return (first, second)
    }

    func keep(_ digest: KeyedDigest) {
        if let secret, KeyedDigest(secret: secret) == digest { return }
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        unsafe mkdir(String(directory[..<slash]), 0o755)
        unsafe mkdir(directory, 0o700)
        try? SmallFile.replace(
            secretPath, with: "\(digest.secret.0) \(digest.secret.1)\n", mode: 0o600)
    }
}
