// What a depth saves, measured at launches from the pool:
//
//   libraries    with the libraries open that a program opens after main, or without
//   runtime      with a learned list of imports, or without
//
//   an app that says when it is ready        → the time from the launch until it is ready
//   a program that counts as ready at once   → the time until its end, if it ends by itself with 0
//                                              within `judgedRunLimit`; compared with launches of
//                                              the same work
//   `deepLimit` deep launches of each measured work, none of which saves a tenth or 5 ms
//                                            → the app is demoted (`Depths`)
//
// Cold launches of the installed app are measured in the same way. They decide nothing, and tell what
// a launch from the pool saves (`Lifecycle.savedTime`).
//
// The shortest times are compared, because everything else that the machine does only makes a
// launch longer.

/// How long launches took: from the pool, deep ones, with the libraries or the list of imports, and
/// shallow ones, without; and cold ones.
public struct DepthTimes: Hashable, Sendable {
    /// Launches that do the same work.
    public struct Work: Hashable, Sendable {
        /// Distinguishes this work from others (`LaunchRequest.work`). 0 is what an app does until
        /// it is ready.
        public var name: UInt64
        /// The shortest times.
        public var shallow: Duration?
        public var deep: Duration?
        /// At most `DepthTimes.deepLimit`.
        public var deepCount = 0

        public init(name: UInt64) { self.name = name }
    }

    /// Cold launches of one work.
    public struct Cold: Hashable, Sendable {
        public var name: UInt64
        /// The shortest time.
        public var time: Duration

        public init(name: UInt64, time: Duration) {
            self.name = name
            self.time = time
        }
    }

    /// What the times are valid for: the app's generation (libraries), or
    /// `AppDescription.importBasis` (imports).
    public var basis: UInt64
    /// The generation whose deep launches were measured. Another list of imports makes another
    /// generation.
    public var deepGeneration: UInt64 = 0
    /// At most `workLimit`; the one measured last is at the end.
    public var works: [Work] = []
    /// At most `workLimit`; the one measured last is at the end. They are apart from `works`, so that
    /// cold launches take no place from work that is judged.
    public var colds: [Cold] = []

    public init(basis: UInt64) { self.basis = basis }

    /// A work is judged after this many deep launches.
    public static let deepLimit = 3
    /// Most programs are called in few different ways.
    public static let workLimit = 4

    /// - Returns: whether this changes anything.
    mutating func add(_ time: Duration, of name: UInt64, isDeep: Bool, _ generation: UInt64) -> Bool
    {
        if isDeep, deepGeneration != generation {
            forgetDeep()
            deepGeneration = generation
        }
        let index = works.firstIndex { $0.name == name }
        // Without a shallow launch of the same work there is nothing to compare.
        if isDeep, index == nil { return false }
        var work = index.map { works[$0] } ?? Work(name: name)
        if !isDeep {
            work.shallow = min(work.shallow ?? time, time)
        } else if work.deepCount < Self.deepLimit {
            work.deep = min(work.deep ?? time, time)
            work.deepCount += 1
        }
        if let index {
            guard works[index] != work else { return false }
            works.remove(at: index)
        }
        works.append(work)
        if works.count > Self.workLimit { works.removeFirst() }
        return true
    }

    mutating func addCold(_ time: Duration, of name: UInt64) {
        let known = colds.first { $0.name == name }?.time
        colds.removeAll { $0.name == name }
        if colds.count == Self.workLimit { colds.removeFirst() }
        colds.append(Cold(name: name, time: min(known ?? time, time)))
    }

    /// Forgets the deep launches, so that the next ones are judged afresh.
    mutating func forgetDeep() {
        for index in works.indices {
            works[index].deep = nil
            works[index].deepCount = 0
        }
    }

    /// Whether work was measured often enough, and none of it is done a tenth or 5 ms sooner.
    var savesNothing: Bool {
        let judged = works.filter { $0.shallow != nil && $0.deepCount == Self.deepLimit }
        return !judged.isEmpty && judged.allSatisfy(\.savesNothing)
    }

    /// The time that a deep launch saves, averaged over the works; nil if none was measured both
    /// ways.
    public var saved: Duration? {
        Self.average(works.compactMap(\.saved))
    }

    /// The time that a launch from the pool saves, averaged over the works; nil if none was measured
    /// both cold and from the pool.
    ///
    /// - Parameter isDeep: whether the app's instances are deep now.
    func savedFromCold(isDeep: Bool) -> Duration? {
        Self.average(
            works.compactMap { work in
                guard let cold = colds.first(where: { $0.name == work.name }),
                    let pooled = isDeep ? work.deep ?? work.shallow : work.shallow
                else { return nil }
                return cold.time - pooled
            })
    }

    private static func average(_ times: [Duration]) -> Duration? {
        times.isEmpty ? nil : times.reduce(.zero, +) / times.count
    }
}

extension DepthTimes.Work {
    fileprivate var savesNothing: Bool {
        guard let shallow, let saved else { return false }
        return saved < min(shallow / 10, .milliseconds(5))
    }

    fileprivate var saved: Duration? {
        guard let shallow, let deep else { return nil }
        return shallow - deep
    }
}

extension Lifecycle {
    /// Longer runs are not measured, because their times vary by more than a depth saves.
    static let judgedRunLimit = Duration.seconds(2)

    /// How long launches of the app's installed generation from the pool took; nil if none was
    /// measured.
    public func depthTimes(of app: AppIdentifier) -> DepthTimes? {
        guard let entry = directory[app], let times = entry.times.value,
            let description = entry.description?.value,
            times.basis == (description.importBasis ?? description.generation)
        else { return nil }
        return times
    }

    /// The time that a launch of the app from the pool saves: what its launches have shown, or, until
    /// they have, the time that preparing its latest instance took, because a cold launch does the
    /// same. Nil if neither is known.
    public func savedTime(of app: AppIdentifier) -> Duration? {
        measuredSaving(of: app) ?? prewarmTime(of: app)
    }

    /// The time that a launch of the app from the pool was seen to save; nil until one was measured
    /// cold and one from the pool.
    public func measuredSaving(of app: AppIdentifier) -> Duration? {
        guard let entry = directory[app], let description = entry.description?.value else {
            return nil
        }
        let depth = depth(of: app, entry.record.poolKey ?? description.environmentKey)
        let saved =
            depth == .window
            ? nil
            : depthTimes(of: app)?.savedFromCold(
                isDeep: depth == .libraries || description.importsLearned)
        return saved.map { max(.zero, $0) }
    }

    /// A former supervisor measured these times.
    mutating func timesRecalled(_ app: AppIdentifier, _ times: DepthTimes) {
        guard let entry = directory[app], entry.times == .none else { return }
        self[app].times = Boxed(times)
    }

    /// The instance was seen to be ready.
    mutating func readinessReported(_ id: InstanceIdentifier) {
        let wasStarting = table[id]?.record.phase == .starting
        becameReady(id)
        if wasStarting, let instance = table[id] { note(instance, work: 0, isToEnd: false) }
    }

    /// The main process of the instance has ended by itself.
    mutating func noteEndTime(of instance: Entry<Instance>, _ status: ExitStatus) {
        guard instance.work != 0, status == .exited(0), instance.record.endReason == nil else {
            return
        }
        note(instance, work: instance.work, isToEnd: true)
    }

    /// The time from the order counts. When the program began to run is known from a message, which a
    /// busy daemon may read only together with that of the end, and then the time would be none.
    private mutating func note(_ instance: Entry<Instance>, work: UInt64, isToEnd: Bool) {
        let record = instance.record
        guard record.launchedAt != nil, let toldAt = instance.toldAt, toldAt < now,
            let description = directory[record.app]?.description,
            record.generation == description.generation
        else { return }
        let time = toldAt.duration(to: now)
        guard !isToEnd || time <= Self.judgedRunLimit else { return }
        let basis = description.importBasis ?? description.generation
        var times = depthTimes(of: record.app) ?? DepthTimes(basis: basis)
        if record.launchKind == .cold {
            times.addCold(time, of: work)
            self[record.app].times = Boxed(times)
            return
        }
        guard let isDeep = isDeep(record, description.value) else { return }
        let isLearned = countsForLibraries(record) || description.importBasis != nil
        guard times.add(time, of: work, isDeep: isDeep, record.generation) else { return }
        self[record.app].times = Boxed(times)
        if isDeep, times.savesNothing { demote(record.app, record, .savesNothing) }
        // Nobody keeps the times of an app that launches teach nothing.
        if isLearned { report(.depthTimed(record.app)) }
    }

    /// Whether the launch was deep; nil if its time cannot be compared with others.
    private func isDeep(_ record: InstanceRecord, _ description: AppDescription) -> Bool? {
        guard record.launchKind == .prewarmed else { return nil }
        if countsForLibraries(record) { return record.depth == .libraries }
        guard record.depth == description.depth, record.depth == .main || record.depth == .runtime
        else { return nil }
        return description.importsLearned
    }
}
