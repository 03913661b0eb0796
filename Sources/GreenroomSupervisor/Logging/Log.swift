internal import GreenroomLifecycle
internal import Systemd

/// Writes lines to the journal. (`Reporter` sends events to watchers.)
@LoopActor
final class Log {
    let journal: Journal
    private var saidOnce: Set<String> = []
    private let budgets: LineBudgets
    private let owner: (AppIdentifier) -> UInt32?

    /// - Parameter owner: the user that an app runs as; the lines of one user's apps are counted
    ///   together.
    init(
        _ journal: Journal, owner: @escaping (AppIdentifier) -> UInt32?
    ) throws(SystemdError) {
        self.journal = journal
        self.owner = owner
        budgets = try LineBudgets(journal)
    }

    /// Logs a line about an app, unless there were too many lately.
    func line(
        _ app: AppIdentifier, _ level: LogLevel, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:],
        as identity: @autoclosure () -> MessageIdentifier? = nil,
        _ occasion: LineCounts.Occasion = .word
    ) {
        guard level.rawValue <= journal.level.rawValue,
            budgets.allow(app, of: owner(app) ?? .max, occasion)
        else { return }
        journal.log(level, message(), fields(), as: identity())
    }

    func say(_ level: LogLevel, _ message: String) { journal.log(level, message) }

    /// Logs a line about an app, whether or not it has a process.
    func say(_ level: LogLevel, _ message: String, of app: String) {
        line(AppIdentifier(app), level, message, ["app": app])
    }

    func failed(_ activity: String, _ error: any Error) {
        journal.log(.error, "\(activity): \(error)")
    }

    /// Logs once, not each time, that something is missing on this machine.
    func sayOnce(_ message: String) {
        if saidOnce.insert(message).inserted { journal.log(.notice, message) }
    }

    /// Whatever the message says is over. It is logged again if it comes back.
    func forget(_ message: String) { saidOnce.remove(message) }
}
