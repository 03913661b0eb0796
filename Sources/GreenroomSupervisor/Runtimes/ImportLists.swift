internal import GreenroomLifecycle

/// What launches of each app have taught about its imports. An app is in one of these states:
///
///   recording    launches from the pool record what they import
///   inspecting   the names are being inspected, or wait for that
///   learned      prewarms import the list; launches from the pool record what the list lacks
///   abandoned    nothing is imported or recorded any more
///
/// A list belongs to one basis: the interpreter, the program, the words and the user that it was
/// recorded with. With another basis, everything is learned anew. From the first inspection on, the
/// list is kept across restarts (`LearnedFiles`).
final class ImportLists {
    /// At most this many inspections for one list: a program whose launches differ teaches a little
    /// with each, and each inspection costs the app its paused instances.
    private static let inspectionLimit = 4
    /// After this many failures in a row, a list is not inspected again at once. The first time,
    /// something that it imports was probably installed again, and so it was if the inspection then
    /// reports something else: the next launch asks for another inspection. A list that fails
    /// although its report is the same is given up.
    private static let failureLimit = 2

    enum Abandonment: Hashable, Sendable {
        /// The inspection ended without a report, or took too long.
        case notInspected
        /// A prewarm with the list failed.
        case failed(DepthFault)
    }

    fileprivate struct Entry {
        let basis: UInt64
        var recorded: [String] = []
        var learned: LearnedImports?
        /// Something was recorded that no inspection has looked at to its end.
        var isUninspected = false
        var inspectionCount = 0
        var failureCount = 0
        /// The list that has failed last.
        var failed: LearnedImports?
        /// Since the names were recorded, something was installed again. So a program may now load
        /// other files first.
        var isOutdated = false
        /// Launches begin otherwise than the manifest's script, so the list is to have no beginning.
        var isWithoutBeginning = false
        var abandonment: Abandonment?
        /// How long launches with and without the list took.
        var times: DepthTimes?
    }

    private var entries: [AppIdentifier: Entry] = [:]
    private let files: LearnedFiles?
    /// The users of apps whose files were read.
    private var users: [AppIdentifier: UInt32] = [:]

    init(_ files: LearnedFiles? = nil) { self.files = files }

    /// Reads what was learned before this daemon began.
    func recall(_ app: AppIdentifier, of user: UInt32) {
        guard let files, users.updateValue(user, forKey: app) != user, entries[app] == nil,
            let lines = files.lines(.imports, of: app, user)
        else { return }
        entries[app] = Entry(lines)
    }

    func times(of app: AppIdentifier, _ basis: UInt64) -> DepthTimes? {
        entry(app, basis)?.times
    }

    /// Remembers the times. They change with every launch, so the caller decides when they are
    /// written (``write(_:)``).
    func note(_ times: DepthTimes, of app: AppIdentifier, _ basis: UInt64) {
        var entry = entry(app, basis) ?? Entry(basis: basis)
        entry.times = times
        entries[app] = entry
    }

    private func put(_ entry: Entry, _ app: AppIdentifier) {
        entries[app] = entry
        write(app)
    }

    /// Writes the app's file.
    func write(_ app: AppIdentifier) {
        guard let files, let user = users[app], let entry = entries[app], entry.inspectionCount > 0
        else { return }
        files.write(entry.lines, .imports, of: app, user)
    }

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

    /// Adds what a launch has imported. If it is what a program loads first (`isBeginning`), it is
    /// the same in every launch until something is installed again, and then takes the place of
    /// what was recorded before.
    ///
    /// - Returns: whether the names must be inspected.
    func add(
        _ names: [String], of app: AppIdentifier, _ basis: UInt64, isBeginning: Bool = false
    ) -> Bool {
        guard wantsRecord(of: app, basis) else { return false }
        var entry = entry(app, basis) ?? Entry(basis: basis)
        if isBeginning, ![[], names].contains(entry.recorded) {
            guard entry.isOutdated, !names.isEmpty else { return entry.isUninspected }
            entry.recorded = []
        }
        entry.isOutdated = false
        let known = Set(entry.recorded)
        entry.recorded += names.filter { !known.contains($0) }
        if entry.recorded.count > known.count || entry.learned == nil { entry.isUninspected = true }
        entry.recorded = Array(entry.recorded.prefix(LearnedImports.Limit.names))
        entries[app] = entry
        return entry.isUninspected
    }

    /// An inspection has ended; `found` is nil if it ended without a report.
    func inspected(_ app: AppIdentifier, _ basis: UInt64, _ found: LearnedImports?) {
        guard var entry = entry(app, basis) else { return }
        entry.inspectionCount += 1
        // While the inspection ran, launches have shown that its beginning is not theirs.
        let isOutdated = entry.isWithoutBeginning && found?.hasBeginning == true
        entry.learned = isOutdated ? nil : found
        entry.isUninspected = false
        if found == nil { entry.abandonment = .notInspected }
        put(entry, app)
    }

    /// An inspection did not run to its end, for which the list is not to blame.
    func inspectionWasLost(_ app: AppIdentifier, _ basis: UInt64) {
        guard var entry = entry(app, basis) else { return }
        entry.isUninspected = true
        entry.inspectionCount += 1
        if entry.inspectionCount >= Self.inspectionLimit, entry.learned == nil {
            entry.abandonment = .notInspected
        }
        put(entry, app)
    }

    /// Whether the inspection is to read what the manifest's script imports first.
    func takesBeginning(_ app: AppIdentifier, _ basis: UInt64) -> Bool {
        entry(app, basis)?.isWithoutBeginning != true
    }

    /// A prewarm with the app's list has failed, or its launches are started anew. If the list has
    /// a beginning, that is why, and the rest may still serve them.
    ///
    /// - Returns: whether the names are to be inspected again at once.
    func failed(_ app: AppIdentifier, _ basis: UInt64, _ fault: DepthFault) -> Bool {
        guard var entry = entry(app, basis), let list = entry.learned else { return false }
        entry.learned = nil
        entry.failureCount += 1
        let isLimit = entry.failureCount >= Self.failureLimit
        if fault == .startsAnew, list.hasBeginning, !entry.isWithoutBeginning {
            entry.isWithoutBeginning = true
        } else if fault != .ended || isLimit && entry.failed == list {
            entry.abandonment = .failed(fault)
        }
        entry.failed = list
        entry.isOutdated = true
        // What was inspected before was another version.
        entry.inspectionCount = 1
        put(entry, app)
        return entry.abandonment == nil && !isLimit
    }

    /// A launch was served by an instance with the app's list.
    func served(_ app: AppIdentifier, _ basis: UInt64) {
        guard var entry = entry(app, basis), entry.failureCount > 0 else { return }
        entry.failureCount = 0
        put(entry, app)
    }

    func forget(_ app: AppIdentifier) {
        entries[app] = nil
        if let files, let user = users[app] { files.remove(.imports, of: app, user) }
    }

    /// The app is not installed any more.
    func remove(_ app: AppIdentifier, wasInstalled: Bool) {
        if users[app] == nil, !wasInstalled { files?.removeAll(.imports, of: app) }
        forget(app)
        users[app] = nil
    }

    private func entry(_ app: AppIdentifier, _ basis: UInt64) -> Entry? {
        entries[app].flatMap { $0.basis == basis ? $0 : nil }
    }
}

/// The form of an app's file:
///
///     basis BASIS
///     inspections NUMBER
///     failures NUMBER
///     uninspected                   no inspection of the names ran to its end
///     outdated                      something was installed again since the names were recorded
///     plain                         the list is to have no beginning
///     abandoned FAULT               with "-" if it could not be inspected
///     recorded NAME                 for each name, in the order in which the imports began
///     learned                       followed by the lines of the inspection's report
///     times, work                   `DepthTimes+Lines`
extension ImportLists.Entry {
    fileprivate var lines: [String] {
        var lines = [
            "basis \(basis)", "inspections \(inspectionCount)", "failures \(failureCount)",
        ]
        if isUninspected { lines.append("uninspected") }
        if isOutdated { lines.append("outdated") }
        if isWithoutBeginning { lines.append("plain") }
        switch abandonment {
        case .notInspected: lines.append("abandoned -")
        case .failed(let fault): lines.append("abandoned \(fault.rawValue)")
        case nil: break
        }
        lines += recorded.map { "recorded \($0)" }
        if let learned { lines += ["learned"] + learned.report }
        return lines + (times?.lines ?? [])
    }

    /// Nil if a line makes no sense.
    fileprivate init?(_ lines: [Substring]) {
        guard let first = lines.first?.split(separator: " "), first.count == 2,
            first[0] == "basis", let basis = UInt64(first[1])
        else { return nil }
        self.init(basis: basis)
        var names: [Substring] = []
        for line in lines.dropFirst() {
            let words = line.split(separator: " ")
            switch (words.first, words.count) {
            case ("inspections", 2):
                guard let count = UInt16(words[1]) else { return nil }
                inspectionCount = Int(count)
            case ("failures", 2):
                guard let count = UInt16(words[1]) else { return nil }
                failureCount = Int(count)
            case ("uninspected", 1): isUninspected = true
            case ("outdated", 1): isOutdated = true
            case ("plain", 1): isWithoutBeginning = true
            case ("abandoned", 2):
                if words[1] == "-" {
                    abandonment = .notInspected
                } else if let fault = UInt8(words[1]).flatMap(DepthFault.init(rawValue:)) {
                    abandonment = .failed(fault)
                } else {
                    return nil
                }
            case ("recorded", 2): names.append(words[1])
            case _: break
            }
        }
        recorded = LearnedImports.names(inRecord: names.joined(separator: "\n"))
        if lines.contains("learned") {
            guard let learned = LearnedImports(report: lines.joined(separator: "\n").utf8) else {
                return nil
            }
            self.learned = learned
        }
        times = DepthTimes(lines)
    }
}
