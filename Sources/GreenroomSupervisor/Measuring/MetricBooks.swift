internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What was counted for each app: in memory while the app runs, and in a file soon after.
@LoopActor
final class MetricBooks {
    private let log: Log
    private let files: MetricFiles
    /// The books of apps that run, and of apps whose counts are not written yet.
    private var books: [MetricKey: AppMetrics] = [:]
    /// Changes to books that are not in memory. Reading a book takes a tenth as long as a launch,
    /// and every launch is counted.
    private var changes: [MetricKey: Changes] = [:]
    /// Books that could not be written; they are tried again with the next count.
    private var refused: Set<MetricKey> = []
    /// The time before writing is longer than a burst of launches.
    private lazy var writes = DelayedWrites<MetricKey>(
        after: .seconds(1), accuracy: .milliseconds(250),
        { [unowned self] in write($0) }, onEmpty: { [unowned self] in closeUnused() })
    /// The keys of apps that have instances. Other books are closed once they are written.
    private let inUse: () -> Set<MetricKey>

    private struct Changes {
        /// Microseconds since 1970 UTC.
        var since: Int64
        var list: [(inout AppMetrics) -> Void] = []
    }

    /// At most this many changes wait for the book of an app that is launched over and over; then
    /// the book is opened.
    private static let changeLimit = 64

    init(log: Log, stateDirectory: String, inUse: @escaping () -> Set<MetricKey>) {
        self.log = log
        self.inUse = inUse
        files = MetricFiles(stateDirectory: stateDirectory)
    }

    subscript(key: MetricKey) -> AppMetrics {
        if let book = books[key] { return book }
        let changes = changes.removeValue(forKey: key)
        let now = changes?.since ?? WallClock.nowMicroseconds
        let text = files.text(of: key) { log.sayOnce("metrics: \($0)") }
        var book = text.map { AppMetrics(text: $0, now: now) } ?? AppMetrics(now: now)
        for change in changes?.list ?? [] { change(&book) }
        books[key] = book
        return book
    }

    func change(_ key: MetricKey, _ change: @escaping (inout AppMetrics) -> Void) {
        if books[key] != nil {
            change(&books[key]!)
        } else {
            postpone(change, key)
        }
        let again = refused
        refused = []
        for key in again { writes.ask(key) }
        writes.ask(key)
    }

    private func postpone(_ change: @escaping (inout AppMetrics) -> Void, _ key: MetricKey) {
        changes[key, default: Changes(since: WallClock.nowMicroseconds)].list.append(change)
        if changes[key]!.list.count == Self.changeLimit { _ = self[key] }
    }

    /// Writes at once what has not been written yet.
    func write() { writes.writeAll() }

    /// Removes the files of apps that were last counted more than a month ago and are not installed
    /// any more.
    func prune(keeping isInstalled: (AppIdentifier) -> Bool) {
        files.prune(keeping: isInstalled)
    }

    private func write(_ key: MetricKey) {
        do throws(SystemError) { try files.write(self[key].text, of: key) } catch {
            refused.insert(key)
            log.sayOnce("writing metrics: \(error); they are kept in memory")
        }
    }

    private func closeUnused() {
        let used = inUse().union(refused)
        for key in books.keys where !used.contains(key) && !writes.contains(key) {
            books[key] = nil
        }
    }
}
