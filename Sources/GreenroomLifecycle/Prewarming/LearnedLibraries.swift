// Libraries that a program opens after main: plug-ins, theme engines, drivers. At launches from the
// pool, the shell finds out which they are, and later prewarms open them before their pause.
//
//   a launch from the pool of an app that may be prewarmed to depth `libraries`
//                             → the shell observes which libraries it opens
//   it has opened libraries that are not known
//                             → the pool of that environment is made anew, to depth `libraries`
//   the shell has observed one launch for as long as a start takes, or `lessonLimit` launches
//                             → it observes no further launches
//   a prewarm fails while it opens one of them, or that one cannot be opened
//                             → that library is left out from now on
//   launches at that depth are not faster than from a pause before main
//                             → the app is demoted (`DepthTimes`)
//   a new supervisor has read what the former one had learned
//                             → the core takes it over
//
// What was learned is valid for one generation of the app. The shell has the libraries' names.

/// The prewarms that libraries are learned for: those of one build of the app, with one
/// environment.
public struct LibraryLesson: Hashable, Sendable {
    public var app: AppIdentifier
    /// The generation of the `AppDescription`.
    public var generation: UInt64
    public var environmentKey: EnvironmentKey

    public init(app: AppIdentifier, generation: UInt64, environmentKey: EnvironmentKey) {
        self.app = app
        self.generation = generation
        self.environmentKey = environmentKey
    }
}

/// What is known about the libraries that one generation of an app opens after main.
struct LearnedLibraries: Hashable, Sendable {
    struct Known: Hashable, Sendable {
        var environmentKey: EnvironmentKey
        var count = 0
        var lessonCount = 0
        var isComplete = false
        /// How many libraries were left out.
        var dropCount = 0
    }

    var generation: UInt64
    /// The environment learned last is at the end.
    var environments: [Known] = []

    subscript(key: EnvironmentKey) -> Known? {
        environments.first { $0.environmentKey == key }
    }
}

extension Lifecycle {
    /// At most this many launches with one environment are observed, if each of them ends before
    /// the shell has observed it for as long as a start takes.
    static let lessonLimit = 3

    /// How many libraries the app's next prewarm opens before its pause.
    public func libraryCount(of app: AppIdentifier, _ key: EnvironmentKey) -> Int {
        learnedLibraries(of: app)?[key]?.count ?? 0
    }

    /// What was learned about the installed generation.
    private func learnedLibraries(of app: AppIdentifier) -> LearnedLibraries? {
        guard let entry = directory[app], let learned = entry.libraries.value,
            learned.generation == entry.description?.generation
        else { return nil }
        return learned
    }

    /// Whether a launch of the paused instance may show more libraries. Nothing is learned from an
    /// instance with other threads: its libraries started them before main, so threads of libraries
    /// that are opened later could not be told from them.
    public func learnsLibraries(from id: InstanceIdentifier) -> Bool {
        guard let record = table[id]?.record, record.otherThreads == .none,
            countsForLibraries(record)
        else { return false }
        let known = learnedLibraries(of: record.app)?[record.environmentKey]
        return known?.isComplete != true && known?.lessonCount ?? 0 < Self.lessonLimit
    }

    /// An instance was launched from the pool.
    mutating func learnLibraries(of id: InstanceIdentifier) {
        guard let record = table[id]?.record, learnsLibraries(from: id) else { return }
        let lesson = LibraryLesson(
            app: record.app, generation: record.generation, environmentKey: record.environmentKey)
        effects.append(.learnLibraries(id, lesson))
    }

    /// Whether the instance was made from the installed generation of an app that may be prewarmed
    /// to depth `libraries` in the instance's environment.
    func countsForLibraries(_ record: InstanceRecord) -> Bool {
        allowedDepthUnheld(of: record.app, record.environmentKey) == .libraries
            && (record.depth == .main || record.depth == .libraries)
            && record.generation == directory[record.app]?.description?.generation
    }

    mutating func librariesLearned(_ lesson: LibraryLesson, count: Int, isComplete: Bool) {
        let (app, key) = (lesson.app, lesson.environmentKey)
        guard note(lesson, count, isComplete, isLesson: true) else { return }
        report(.librariesLearned(app, count: count))
        remakePool(of: app, key)
    }

    /// A former supervisor learned this.
    mutating func librariesRecalled(
        _ lesson: LibraryLesson, count: Int, dropCount: Int, isComplete: Bool
    ) {
        // Instances that were paused without these libraries stay, and can serve a launch.
        _ = note(lesson, count, dropCount: dropCount, isComplete, isLesson: false)
    }

    /// - Returns: whether prewarms open more libraries from now on.
    private mutating func note(
        _ lesson: LibraryLesson, _ count: Int, dropCount: Int = 0, _ isComplete: Bool,
        isLesson: Bool
    ) -> Bool {
        let (app, key) = (lesson.app, lesson.environmentKey)
        guard directory[app]?.description?.generation == lesson.generation,
            allowedDepthUnheld(of: app, key) == .libraries
        else { return false }
        var learned = learnedLibraries(of: app) ?? LearnedLibraries(generation: lesson.generation)
        var known = learned[key] ?? .init(environmentKey: key)
        let isNews = count > known.count
        known.count = max(count, known.count)
        known.dropCount = max(dropCount, known.dropCount)
        known.lessonCount += isLesson ? 1 : 0
        known.isComplete = isComplete
        learned.environments.removeAll { $0.environmentKey == key }
        learned.environments.append(known)
        // No more environments than this may have paused instances.
        if learned.environments.count > Self.formerKeyLimit + 1 {
            learned.environments.removeFirst()
        }
        self[app].libraries = .some(learned)
        return isNews
    }

    // MARK: Leaving out

    /// At most this many libraries are left out for one environment. Each fault costs a prewarm,
    /// and after more faults than this, the libraries are not to blame.
    public static let dropLimit = 8

    /// The next library that the instance opens is the one with this index in the instance's list;
    /// nil if all are open.
    mutating func opening(_ id: InstanceIdentifier, _ index: Int?) {
        guard case .current(_, let unopened) = librariesBeingOpened(by: id) else { return }
        self[id].preparation?.libraries = .current(opening: index, unopened: unopened)
    }

    /// The instance could not open the library with this index. The library is left out only once
    /// the instance has paused: until then, the instance reports indices in the list that it was
    /// given.
    mutating func openingFailed(_ id: InstanceIdentifier, _ index: Int) {
        guard case .current(let opening, let unopened) = librariesBeingOpened(by: id),
            unopened.count < Self.dropLimit
        else { return }
        self[id].preparation?.libraries = .current(
            opening: opening, unopened: unopened + [index])
    }

    /// The list of an instance that opens libraries before its pause.
    private func librariesBeingOpened(
        by id: InstanceIdentifier
    ) -> PrewarmProgress.LibraryList? {
        guard let instance = table[id], instance.record.state == .prewarming,
            instance.record.depth == .libraries
        else { return nil }
        return instance.preparation?.libraries
    }

    /// The instance has paused. Leaves out the libraries that it could not open, the last first, so
    /// that the indices of the others stay right.
    mutating func dropUnopened(by id: InstanceIdentifier) {
        let record = self[id].record
        guard case .current(_, let unopened) = self[id].preparation?.libraries else { return }
        for index in Set(unopened).sorted(by: >) {
            _ = dropLibrary(index, of: record, .cannotBeOpened)
        }
    }

    /// Leaves out the library that the instance could not open, or was opening when the instance
    /// failed. Later prewarms of the app open the other libraries. A library that needs this one
    /// fails in the same way, and is left out then.
    ///
    /// - Parameter index: of the library, in the list that the instance was given.
    /// - Returns: false if no single library is to blame.
    mutating func dropLibrary(
        _ index: Int, of record: InstanceRecord, _ fault: DepthFault
    ) -> Bool {
        let (app, key) = (record.app, record.environmentKey)
        guard record.depth == .libraries,
            record.generation == directory[app]?.description?.generation,
            var learned = learnedLibraries(of: app),
            let place = learned.environments.firstIndex(where: { $0.environmentKey == key }),
            learned.environments[place].dropCount < Self.dropLimit,
            learned.environments[place].count > 0
        else { return false }
        learned.environments[place].count -= 1
        learned.environments[place].dropCount += 1
        self[app].libraries = .some(learned)
        self[record.instance].preparation?.libraries = .former
        let lesson = LibraryLesson(
            app: app, generation: record.generation, environmentKey: key)
        report(.libraryDropped(record.instance, lesson, index: index, fault))
        // The app's other prewarms have the former list, whose indices are no longer right, so they
        // are ended. A prewarm that a launch waits for goes on.
        for id in self[app].filling
        where id != record.instance && self[id].record.environmentKey == key {
            self[id].preparation?.libraries = .former
            if self[id].claim == nil { end(id, .poolTrimmed, gently: false) }
        }
        return true
    }

    /// Ends the paused instances that lack libraries, if new ones can take their place.
    private mutating func remakePool(of app: AppIdentifier, _ key: EnvironmentKey) {
        guard keptCount(of: app) > 0, fillRefusal(app) == nil else { return }
        for id in self[app].pool + self[app].filling
        where self[id].record.environmentKey == key && self[id].record.depth != .window
            && self[id].claim == nil
        {
            end(id, .poolTrimmed, gently: false)
        }
        wantRefill(of: app)
    }
}
