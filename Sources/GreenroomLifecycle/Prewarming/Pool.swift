// The pools' environment, freshness and size. `BackingOff` decides what failures lead to.

extension Lifecycle {
    /// From now on the app's pool has this environment, and instances with another one are ended. A
    /// launch changes the environment only of a pool that exists or is kept. A prewarm (`isWanted`)
    /// always changes it.
    mutating func setPoolKey(_ key: EnvironmentKey, of app: AppIdentifier, isWanted: Bool) {
        // Most launches bring the environment that the pool already has.
        guard let entry = directory[app], entry.poolKey != key,
            entry.isEligible
        else { return }
        let members = entry.pool + entry.filling
        let exists = !members.isEmpty || keptCount(of: app) > 0
        guard exists || isWanted else { return }
        updateApp(app) { $0.poolKey = key }
        for id in members where self[id].record.environmentKey != key {
            end(id, .poolTrimmed, gently: false)
        }
    }

    mutating func becameStale(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record, record.state.isPrewarm else { return }
        // Files that change once often change again, so the app backs off as after a failure.
        _ = countPrewarmFailure(record.app)
        discardStale(id)
    }

    /// Records that the app must not be prewarmed. The instance's end may be reported before this.
    mutating func misfired(_ id: InstanceIdentifier, _ misfire: Misfire) {
        guard let record = table[id]?.record, record.launchedAt == nil,
            let entry = directory[record.app]
        else { return }
        // Another environment may bring other libraries. The app is not to blame for a caller's
        // libraries.
        if misfire == .changesProcess, record.environmentKey != entry.description?.environmentKey {
            return
        }
        report(.misfired(id, record.app, misfire))
        updateApp(record.app) {
            $0.misfiredGeneration = record.generation
            $0.misfireKind = misfire.kind
        }
        // If the app was installed again in the meantime, it gets another chance.
        guard self[record.app].hasMisfired else { return }
        refusePrewarms(of: record.app, .ineligible(record.app))
        for id in entry.pool + entry.filling { end(id, .prewarmFailed, gently: false) }
    }

    mutating func discardStale(_ id: InstanceIdentifier) {
        directory[self[id].record.app]!.poolIsStale = true
        end(id, .stale, gently: false)
    }

    /// Ends the least valuable instances until the rest are within the budget.
    mutating func enforceBudget() {
        guard prewarmedBytes > policy.prewarmByteBudget else { return }
        for id in prewarmsByValue(including: [.prewarmed, .prewarming])
        where prewarmedBytes > policy.prewarmByteBudget {
            end(id, .poolTrimmed, gently: false)
        }
    }

    /// Least valuable first: expired instances, then those whose app was launched longest ago, then
    /// the largest.
    func prewarmsByValue(including states: Set<ExecutionState>) -> [InstanceIdentifier] {
        let records = table.values.map(\.record).filter { states.contains($0.state) }
        return records.sorted { first, second in
            let (one, other) = (isExpired(first), isExpired(second))
            if one != other { return one }
            let launched = self[first.app].lastLaunched
            let otherLaunched = self[second.app].lastLaunched
            if launched != otherLaunched { return launched < otherLaunched }
            if first.byteCount != second.byteCount { return first.byteCount > second.byteCount }
            return first.instance < second.instance
        }.map(\.instance)
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
