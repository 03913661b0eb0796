internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// How many lines of the log each app may cause: what it says, or has its clients do, in a loop is not to
/// fill the journal. The rest is counted, and the count is said when the interval is over. Events for
/// watchers are not concerned.
@LoopActor
final class LineBudgets {
    enum Occasion: CaseIterable {
        /// What an app says or gets wrong.
        case word
        /// A launch or an end, which costs its user something.
        case life

        /// Lines of one app in one interval.
        var limit: Int {
            switch self {
            case .word: 50
            case .life: 500
            }
        }
    }

    private static let interval = Duration.seconds(5)

    private struct Key: Hashable {
        let app: AppIdentifier
        let occasion: Occasion
    }

    private let journal: Journal
    /// Lines of the interval that runs; nothing while nobody logs.
    private var counts: [Key: Int] = [:]
    private var timer: EventSource?

    init(_ journal: Journal) throws(SystemdError) {
        self.journal = journal
        timer = try LoopActor.timer(accuracy: .milliseconds(500)) { [unowned self] in end() }
    }

    /// Counts a line. False if it is one too many.
    func allow(_ app: AppIdentifier, _ occasion: Occasion) -> Bool {
        if counts.isEmpty { try? timer?.setDeadline(after: Self.interval) }
        let key = Key(app: app, occasion: occasion)
        counts[key, default: 0] += 1
        return counts[key]! <= occasion.limit
    }

    private func end() {
        for (key, count) in counts where count > key.occasion.limit {
            journal.log(
                .warning,
                "\(key.app): \(count - key.occasion.limit) more lines about it were suppressed",
                ["app": key.app.rawValue])
        }
        counts = [:]
    }
}
