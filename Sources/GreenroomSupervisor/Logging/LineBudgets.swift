internal import GreenroomLifecycle
internal import Systemd

/// How many lines of the log each app and each user may cause: what an app says, or has its clients do, in a loop is
/// not to fill the journal. The rest is counted, and the count is said when the interval is over. Events for
/// watchers are not concerned.
@LoopActor
final class LineBudgets {
    private static let interval = Duration.seconds(5)

    private let journal: Journal
    /// Those of the interval that runs; none while nobody logs.
    private var counts = LineCounts()
    private var timer: EventSource?

    init(_ journal: Journal) throws(SystemdError) {
        self.journal = journal
        timer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in end() }
    }

    /// Counts a line. False if it is one too many.
    func allow(_ app: AppIdentifier, of user: UInt32, _ occasion: LineCounts.Occasion) -> Bool {
        if counts.isEmpty { try? timer?.setDeadline(after: Self.interval) }
        return counts.allow(app, of: user, occasion)
    }

    private func end() {
        let suppressed = counts.suppressed
        counts = LineCounts()
        for (user, rest) in suppressed {
            guard let app = rest.apps.first else { continue }
            if rest.apps.count == 1 {
                journal.log(
                    .warning, "\(app): \(rest.lineCount) more lines about it were suppressed",
                    ["app": app.rawValue])
            } else {
                journal.log(
                    .warning,
                    "\(rest.lineCount) more lines about \(rest.apps.count) apps of user \(user) were "
                        + "suppressed")
            }
        }
    }
}
