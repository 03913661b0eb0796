internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// The users who have turned their history off: user numbers in a file of the state directory.
///
/// The file lies beside the history and not in it, so that it outlives a damaged history, and so
/// that nothing of these users leaves this process. It may name a user whose history is on again,
/// for as long as `delay`, and never lacks one whose history is off.
@LoopActor
final class UnrecordedUsers {
    private let path: String
    private let log: Log
    private(set) var users: Set<UInt32>
    private var written: Set<UInt32>
    /// Why the file could not be read. Nobody knows then who is in it, so everybody counts as if
    /// they were, and the file is not replaced.
    private var unread: SystemError?
    private lazy var writes = DelayedWrites<String>(
        after: Self.delay, accuracy: Self.accuracy
    ) { [unowned self] _ in writeChanged() }

    /// How long a user is still in the file who has turned the history on again. A client that does
    /// both in turns has the file written about twice in this time.
    private static let delay = Duration.seconds(60)
    private static let accuracy = Duration.seconds(30)

    init(stateDirectory: String, log: Log) {
        path = stateDirectory + "/unrecorded"
        self.log = log
        users = []
        written = []
        do throws(SystemError) {
            let text = try SmallFile.text(of: path)
            users = Set(text.split(separator: "\n").compactMap { UInt32($0) })
            written = users
        } catch {
            guard error.code != ENOENT else { return }
            unread = error
            log.failed("reading who has turned the history off; nobody's is kept", error)
        }
    }

    func has(_ user: UInt32) -> Bool { unread != nil || users.contains(user) }

    /// Returns when the file names the user, if the history is off.
    func set(_ user: UInt32, isRecorded: Bool) throws(SystemError) {
        if let unread { throw unread }
        if isRecorded {
            if users.remove(user) != nil { writes.ask(path) }
        } else if users.insert(user).inserted, !written.contains(user) {
            do throws(SystemError) { try write() } catch {
                users.remove(user)
                throw error
            }
        }
    }

    /// Called when the daemon is about to end.
    func end() { writes.writeAll() }

    private func writeChanged() {
        guard users != written else { return }
        do throws(SystemError) { try write() } catch {
            log.failed("recording who has turned the history on again", error)
        }
    }

    private func write() throws(SystemError) {
        let text = users.sorted().map { "\($0)\n" }.joined()
        try SmallFile.replace(path, with: text, mode: 0o600)
        written = users
        writes.drop(path)
    }
}
