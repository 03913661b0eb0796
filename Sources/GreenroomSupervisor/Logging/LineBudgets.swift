internal import GreenroomLifecycle
internal import Systemd

/// Limits how many lines of the log each app and each user may cause, so that an app that causes
/// lines in a loop, by itself or through its clients, does not fill the journal. Lines above the
/// limit are counted, and the count is logged when the interval is over. Events for watchers are
/// not limited here.
@LoopActor
final class LineBudgets {
    private static let interval = Duration.seconds(5)

    private let journal: Journal
    /// The lines of the current interval; empty while nobody logs.
    private var counts = LineCounts()
    private var timer: EventSource?

    init(_ journal: Journal) throws(SystemdError) {
        self.journal = journal
        timer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in end() }
    }

    /// Counts a line. False if the line exceeds a limit.
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
