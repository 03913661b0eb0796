internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// The users who have turned their history off: user numbers in a file of the state directory.
///
/// The file lies beside the history and not in it, so that it outlives a damaged history, and so
/// that nothing of these users leaves this process.
@LoopActor
final class UnrecordedUsers {
    private let path: String
    private(set) var users: Set<UInt32>
    /// Why the file could not be read. Nobody knows then who is in it, so everybody counts as if
    /// they were, and the file is not replaced.
    private var unread: SystemError?

    init(stateDirectory: String, log: Log) {
        path = stateDirectory + "/unrecorded"
        users = []
        do throws(SystemError) {
            let text = try SmallFile.text(of: path)
            users = Set(text.split(separator: "\n").compactMap { UInt32($0) })
        } catch {
            guard error.code != ENOENT else { return }
            unread = error
            log.failed("reading who has turned the history off; nobody's is kept", error)
        }
    }

    func has(_ user: UInt32) -> Bool { unread != nil || users.contains(user) }

    func set(_ user: UInt32, isRecorded: Bool) throws(SystemError) {
        if let unread { throw unread }
        var changed = users
        let isNew = isRecorded ? changed.remove(user) != nil : changed.insert(user).inserted
        guard isNew else { return }
        let text = changed.sorted().map { "\($0)\n" }.joined()
        try SmallFile.replace(path, with: text, mode: 0o600)
        users = changed
    }
}
