// What a depth saves, measured at launches from the pool:
//
//   libraries    with the libraries open that a program opens after main, or without
//   runtime      with a learned list of imports, or without
//
//   an app that says when it is ready        → the time from the launch to that
//   a program that counts as ready at once   → the time to its end, if it ends by itself with 0,
//                                              within `judgedRunLimit`; compared with launches of
//                                              the same work
//   `deepLimit` deep launches of each work that was measured, none of which saves a tenth or 5 ms
//                                            → the app is demoted (`Depths`)
//
// The shortest times are compared, because whatever else the machine does makes a launch longer.

/// How long launches from the pool took, of the two kinds that are compared.
public struct DepthTimes: Hashable, Sendable {
    /// Launches that do the same.
    public struct Work: Hashable, Sendable {
        /// Tells the work from others (`LaunchRequest.work`); 0 is whatever an app does until it is
        /// ready.
        public var name: UInt64
        /// The shortest times.
        public var shallow: Duration?
        public var deep: Duration?
        /// At most `DepthTimes.deepLimit`.
        public var deepCount = 0

        public init(name: UInt64) { self.name = name }
    }

    /// What the times belong to: of libraries the app's generation, of imports
    /// `AppDescription.importBasis`.
    public var basis: UInt64
    /// The generation whose deep launches were measured: another list is another generation.
    public var deepGeneration: UInt64 = 0
    /// The work measured last is at the end; at most `workLimit`.
    public var works: [Work] = []

    public init(basis: UInt64) { self.basis = basis }

    /// After this many deep launches of one work, it is judged.
    public static let deepLimit = 3
    /// Most programs are called in a few ways.
    public static let workLimit = 4

    /// - Returns: whether this changes anything.
    mutating func add(_ time: Duration, of name: UInt64, isDeep: Bool, _ generation: UInt64) -> Bool
    {
        if isDeep, deepGeneration != generation {
            forgetDeep()
            deepGeneration = generation
        }
        let index = works.firstIndex { $0.name == name }
        // Nothing to compare it with.
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

    /// The next deep launches are judged anew.
    mutating func forgetDeep() {
        for index in works.indices {
            works[index].deep = nil
            works[index].deepCount = 0
        }
    }

    /// Whether no work that was measured often enough is done a tenth or 5 ms sooner.
    var savesNothing: Bool {
        let judged = works.filter { $0.shallow != nil && $0.deepCount == Self.deepLimit }
        return !judged.isEmpty && judged.allSatisfy(\.savesNothing)
    }

    /// What a deep launch saves, on average of the works; nil if none was measured both ways.
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
    /// A longer run is not measured: how long it takes varies by more than a depth saves.
    static let judgedRunLimit = Duration.seconds(2)

    /// How long the app's launches from the pool took; nil if none of the installed generation was
    /// measured.
    public func depthTimes(of app: AppIdentifier) -> DepthTimes? {
        guard let entry = directory[app], let times = entry.times.value,
            let description = entry.description?.value,
            times.basis == (description.importBasis ?? description.generation)
        else { return nil }
        return times
    }

    /// A former supervisor has measured this.
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

    /// What the times of the instance's launch belong to, and whether they are those of a deep
    /// launch; nil if nothing can be compared.
    private func measured(_ record: InstanceRecord) -> (basis: UInt64, isDeep: Bool)? {
        guard record.launchKind == .prewarmed,
            let description = directory[record.app]?.description,
            record.generation == description.generation
        else { return nil }
        if isOfLibraries(record) { return (record.generation, record.depth == .libraries) }
        guard record.depth == .runtime, let basis = description.importBasis else { return nil }
        return (basis, description.importsLearned)
    }
}
