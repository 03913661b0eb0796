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
// The shortest times are compared, because everything else that the machine does only makes a
// launch longer.

/// How long launches from the pool took: deep ones, with the libraries or the list of imports, and
/// shallow ones, without.
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

    /// What the times are valid for: the app's generation (libraries), or
    /// `AppDescription.importBasis` (imports).
    public var basis: UInt64
    /// The generation whose deep launches were measured. Another list of imports makes another
    /// generation.
    public var deepGeneration: UInt64 = 0
    /// At most `workLimit`; the one measured last is at the end.
    public var works: [Work] = []

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
        let saved = works.compactMap(\.saved)
        return saved.isEmpty ? nil : saved.reduce(.zero, +) / saved.count
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

    /// A former supervisor measured these times.
    mutating func timesRecalled(_ app: AppIdentifier, _ times: DepthTimes) {
        guard let entry = directory[app], entry.times == .none else { return }
        self[app].times = Boxed(times)
    }

    /// The instance was seen to be ready.
    mutating func readinessReported(_ id: InstanceIdentifier) {
        let wasStarting = table[id]?.record.phase == .starting
        becameReady(id)
        if wasStarting, let record = table[id]?.record { note(record, work: 0, isToEnd: false) }
    }

    /// The main process of the instance has ended by itself.
    mutating func noteEndTime(of instance: Entry<Instance>, _ status: ExitStatus) {
        guard instance.work != 0, status == .exited(0), instance.record.endReason == nil else {
            return
        }
        note(instance.record, work: instance.work, isToEnd: true)
    }

    private mutating func note(_ record: InstanceRecord, work: UInt64, isToEnd: Bool) {
        guard let launchedAt = record.launchedAt, launchedAt < now,
            let (basis, isDeep) = measured(record)
        else { return }
        let time = launchedAt.duration(to: now)
        guard !isToEnd || time <= Self.judgedRunLimit else { return }
        var times = depthTimes(of: record.app) ?? DepthTimes(basis: basis)
        guard times.add(time, of: work, isDeep: isDeep, record.generation) else { return }
        self[record.app].times = Boxed(times)
        if isDeep, times.savesNothing { demote(record.app, record, .savesNothing) }
        report(.depthTimed(record.app))
    }

    /// What the time of the instance's launch is valid for, and whether the launch was deep; nil if
    /// the time cannot be compared with others.
    private func measured(_ record: InstanceRecord) -> (basis: UInt64, isDeep: Bool)? {
        guard record.launchKind == .prewarmed,
            let description = directory[record.app]?.description,
            record.generation == description.generation
        else { return nil }
        if countsForLibraries(record) { return (record.generation, record.depth == .libraries) }
        guard record.depth == .runtime, let basis = description.importBasis else { return nil }
        return (basis, description.importsLearned)
    }
}
