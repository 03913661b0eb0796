internal import GreenroomLifecycle

/// What launches of each app have taught about its imports. An app is in one of these states:
///
///   recording    launches from the pool record what they import
///   inspecting   the names are being inspected, or wait for that
///   learned      prewarms import the list; launches from the pool record what the list lacks
///   abandoned    nothing is imported or recorded any more
///
/// A list belongs to one basis: the interpreter, the program, the words and the user that it was
/// recorded with. With another basis, everything is learned anew. Nothing of this outlives the
/// daemon.
final class ImportLists {
    /// At most this many inspections that find names which were not known: a program whose launches
    /// differ teaches a little with each, and each costs its pool.
    private static let inspectionLimit = 4
    /// A list may fail this often in a row. The first time, something that it imports was probably
    /// installed again.
    private static let failureLimit = 2

    enum Abandonment: Hashable, Sendable {
        /// The inspection ended without a report, or took too long.
        case notInspected
        /// A prewarm with the list failed.
        case failed(DepthFault)
    }

    private struct Entry {
        let basis: UInt64
        var recorded: [String] = []
        var learned: LearnedImports?
        var inspectionCount = 0
        var failureCount = 0
        var abandonment: Abandonment?
    }

    private var entries: [AppIdentifier: Entry] = [:]

    func learned(for app: AppIdentifier, _ basis: UInt64) -> LearnedImports? {
        entry(app, basis)?.learned
    }

    func abandonment(of app: AppIdentifier, _ basis: UInt64) -> Abandonment? {
        entry(app, basis)?.abandonment
    }

    /// Whether a launch may teach something.
    func wantsRecord(of app: AppIdentifier, _ basis: UInt64) -> Bool {
        guard let entry = entry(app, basis) else { return true }
        return entry.abandonment == nil && entry.inspectionCount < Self.inspectionLimit
    }

    /// What launches have imported so far, in the order in which the imports began.
    func recorded(of app: AppIdentifier, _ basis: UInt64) -> [String] {
        entry(app, basis)?.recorded ?? []
    }

    /// Adds what a launch has imported.
    ///
    /// - Returns: whether the names must be inspected.
    func add(_ names: [String], of app: AppIdentifier, _ basis: UInt64) -> Bool {
        guard wantsRecord(of: app, basis) else { return false }
        var entry = entry(app, basis) ?? Entry(basis: basis)
        let known = Set(entry.recorded)
        entry.recorded += names.filter { !known.contains($0) }
        let isNew = entry.recorded.count > known.count || entry.inspectionCount == 0
        entry.recorded = Array(entry.recorded.prefix(LearnedImports.Limit.names))
        entries[app] = entry
        return isNew
    }

    /// An inspection has ended; nil: without a report.
    func inspected(_ app: AppIdentifier, _ basis: UInt64, _ found: LearnedImports?) {
        guard var entry = entry(app, basis) else { return }
        entry.inspectionCount += 1
        entry.learned = found
        if found == nil { entry.abandonment = .notInspected }
        entries[app] = entry
    }

    /// A prewarm with the app's list has failed, or its launches are started anew.
    ///
    /// - Returns: whether the names are to be inspected again.
    func failed(_ app: AppIdentifier, _ basis: UInt64, _ fault: DepthFault) -> Bool {
        guard var entry = entry(app, basis), entry.learned != nil else { return false }
        entry.learned = nil
        entry.failureCount += 1
        if fault != .ended || entry.failureCount >= Self.failureLimit {
            entry.abandonment = .failed(fault)
        }
        entries[app] = entry
        return entry.abandonment == nil
    }

    /// A launch was served by an instance with the app's list.
    func served(_ app: AppIdentifier, _ basis: UInt64) {
        guard let entry = entry(app, basis), entry.failureCount > 0 else { return }
        entries[app]?.failureCount = 0
    }

    func forget(_ app: AppIdentifier) { entries[app] = nil }

    private func entry(_ app: AppIdentifier, _ basis: UInt64) -> Entry? {
        entries[app].flatMap { $0.basis == basis ? $0 : nil }
    }
}
