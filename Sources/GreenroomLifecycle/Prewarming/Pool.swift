// The pools' environment, freshness and size. `BackingOff` decides what failures lead to.

extension Lifecycle {
    /// From now on the app's pool has this environment. A launch changes the environment only of a
    /// pool that exists or is kept. A prewarm (`isWanted`) always changes it. One instance with
    /// each of the last former environments is kept, because a terminal and a launcher may take
    /// turns; all others are ended.
    mutating func setPoolKey(_ key: EnvironmentKey, of app: AppIdentifier, isWanted: Bool) {
        // Most launches bring the environment that the pool already has.
        guard let entry = directory[app], entry.isEligible else { return }
        guard entry.poolKey != key else {
            if !isWanted, !entry.isPoolKeyUsed { self[app].isPoolKeyUsed = true }
            return
        }
        let members = entry.pool + entry.filling
        let exists = !members.isEmpty || keptCount(of: app) > 0
        guard exists || isWanted else { return }
        let latest = entry.isPoolKeyUsed ? entry.poolKey : nil
        var former = ([latest].compactMap(\.self) + entry.formerKeys).filter { $0 != key }
        former.removeLast(max(0, former.count - Self.formerKeyLimit))
        self[app].formerKeys = former
        self[app].isPoolKeyUsed = !isWanted
        updateApp(app) { $0.poolKey = key }
        for id in members {
            let own = self[id].record.environmentKey
            if own == key || isBooted(self[id].record) { continue }
            if let index = former.firstIndex(of: own) {
                // A second instance with this environment is not kept.
                former.remove(at: index)
                withSpares.insert(app)
            } else {
                end(id, .poolTrimmed, gently: false)
            }
        }
        limitAges(of: app)
    }

    /// At most this many former environments of an app have a paused instance.
    static let formerKeyLimit = 2

    /// The app's instances with the latest environment that are paused or on their way to the
    /// pause, without those that are about to be replaced (`Booted`).
    func latestMembers(of app: AppIdentifier) -> [InstanceIdentifier] {
        guard let entry = directory[app] else { return [] }
        return (entry.pool + entry.filling).filter { !isSpare(self[$0].record) }
    }

    /// How many paused instances are kept in addition to the manifest's number: those for former
    /// environments of the app, and those that are about to be replaced.
    public func spareCount(of app: AppIdentifier) -> Int {
        directory[app]?.pool.count { isSpare(self[$0].record) } ?? 0
    }

    /// Ends the instances that every app has in addition to its number, to make room for another
    /// prewarm.
    mutating func endSpares() {
        let apps = withSpares.sorted()
        withSpares = []
        for app in apps {
            guard let entry = directory[app] else { continue }
            for id in entry.pool + entry.filling where isSpare(self[id].record) {
                end(id, .poolTrimmed, gently: false)
            }
        }
    }

    mutating func becameStale(_ id: InstanceIdentifier, _ staleness: Staleness) {
        guard let record = table[id]?.record else { return }
        if staleness == .readFile, record.phase == .toldToGo {
            self[record.app].writesSettings = true
            relaunch(insteadOf: id, after: .fileChanged)
            return end(id, .stale, gently: false)
        }
        guard record.state.isPrewarm else { return }
        // Files that change once often change again, so the app backs off as after a failure.
        _ = countPrewarmFailure(record.app)
        discardStale(id, staleness)
    }

    /// Records that the app must not be prewarmed. The instance's end may have been reported
    /// before.
    mutating func misfired(_ id: InstanceIdentifier, _ misfire: Misfire) {
        guard let record = table[id]?.record, record.launchedAt == nil,
            let entry = directory[record.app]
        else { return }
        // It was ended because an instance that may have had the name has ended.
        if misfire == .nameTaken, record.endReason == .stale { return }
        // The depth is to blame: before main, no interpreter has booted and no learned library was
        // opened.
        if record.depth != .main {
            switch misfire {
            case .startsPrograms(let program):
                return misfiredBeyondMain(record, .startsPrograms, program)
            case .changesProcess: return misfiredBeyondMain(record, .changesProcess, nil)
            case .ownsName: return misfiredBeyondMain(record, .ownsName, nil)
            case .nameTaken: return misfiredBeyondMain(record, .nameTaken, nil)
            case .otherDisplay: return misfiredBeyondMain(record, .otherDisplay, nil)
            case .showsNotice: return misfiredBeyondMain(record, .showsNotice, nil)
            case .secureExecution: break
            }
        }
        // A caller's environment may bring in other libraries, for which the app is not to blame.
        if misfire == .changesProcess, record.environmentKey != entry.description?.environmentKey {
            return
        }
        guard let kind = misfire.kind else { return }
        report(.misfired(id, record.app, misfire))
        updateApp(record.app) {
            $0.misfiredGeneration = record.generation
            $0.misfireKind = kind
        }
        // If the app was installed again in the meantime, it gets another chance.
        guard self[record.app].hasMisfired else { return }
        refusePrewarms(of: record.app, .ineligible(record.app))
        for id in entry.pool + entry.filling { end(id, .prewarmFailed, gently: false) }
    }

    mutating func discardStale(_ id: InstanceIdentifier, _ staleness: Staleness = .program) {
        directory[self[id].record.app]!.poolStaleness = staleness
        end(id, .stale, gently: false)
    }

    /// Ends the least valuable instances until the rest are within the budgets.
    mutating func enforceBudget() {
        guard isOverBudget(.main) || isOverBudget(.window) else { return }
        for id in prewarmsByValue(including: [.prewarmed, .prewarming])
        where isOverBudget(self[id].record.depth) {
            end(id, .poolTrimmed, gently: false)
        }
    }

    private func isOverBudget(_ depth: PrewarmDepth) -> Bool {
        depth == .window
            ? heldBytes > policy.windowByteBudget : prewarmedBytes > policy.prewarmByteBudget
    }

    /// Prewarmed instances, least valuable first: expired ones, those with former environments and
    /// those that are about to be replaced, those held at a window (which need ten times as much
    /// memory), then those whose app was launched longest ago, then the largest.
    func prewarmsByValue(including states: Set<ExecutionState>) -> [InstanceIdentifier] {
        let records = table.values.map(\.record).filter { states.contains($0.state) }
        return records.sorted { first, second in
            let (one, other) = (isExpired(first), isExpired(second))
            if one != other { return one }
            let (isSpare, isOtherSpare) = (isSpare(first), isSpare(second))
            if isSpare != isOtherSpare { return isSpare }
            if (first.depth == .window) != (second.depth == .window) {
                return first.depth == .window
            }
            let launched = self[first.app].lastLaunched
            let otherLaunched = self[second.app].lastLaunched
            if launched != otherLaunched { return launched < otherLaunched }
            if first.byteCount != second.byteCount { return first.byteCount > second.byteCount }
            return first.instance < second.instance
        }.map(\.instance)
    }

    func isSpare(_ record: InstanceRecord) -> Bool {
        record.environmentKey != directory[record.app]?.poolKey || isBooted(record)
    }

    private func isExpired(_ record: InstanceRecord) -> Bool {
        record.state == .prewarmed && record.deadline.map { $0 <= now } == true
    }

    mutating func refusePrewarms(of app: AppIdentifier, _ refusal: Refusal) {
        guard let waiters = directory[app]?.prewarmWaiters, !waiters.isEmpty else { return }
        self[app].prewarmWaiters = []
        for request in waiters { refuse(request, refusal) }
    }
}
