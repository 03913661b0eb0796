// Keeping the pools honest: environment, staleness, budget, back-off and crash loops.

extension Lifecycle {
    /// The app's pool is of this environment from now on: what was made with another goes. A
    /// launch changes only a pool that exists or is kept; a prewarm (`isWanted`) always does.
    mutating func adoptKey(_ key: EnvironmentKey, of app: AppIdentifier, isWanted: Bool) {
        // Most launches bring the environment that the pool has.
        guard let entry = directory[app], entry.poolKey != key,
            entry.description?.isEligible == true
        else { return }
        let members = entry.pool + entry.filling
        let exists = !members.isEmpty || keptCount(of: app) > 0
        guard exists || isWanted else { return }
        updateApp(app) { $0.poolKey = key }
        for id in members where table[id]!.record.environmentKey != key {
            end(id, .poolTrimmed, gently: false)
        }
    }

    mutating func becameStale(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record, record.state.isPrewarm else { return }
        // Files that change once often change again, so this backs off like a failure.
        _ = countPrewarmFailure(record.app)
        discardStale(id)
    }

    mutating func discardStale(_ id: InstanceIdentifier) {
        directory[table[id]!.record.app]!.poolIsStale = true
        end(id, .stale, gently: false)
    }

    /// Ends the least valuable until the budget holds.
    mutating func holdBudget() {
        guard prewarmedBytes > policy.prewarmByteBudget else { return }
        for id in prewarmsByValue(including: [.prewarmed, .prewarming])
        where prewarmedBytes > policy.prewarmByteBudget {
            end(id, .poolTrimmed, gently: false)
        }
    }

    /// Least valuable first: expired, then of apps not launched for longest, then the largest.
    func prewarmsByValue(including states: Set<ExecutionState>) -> [InstanceIdentifier] {
        let records = table.values.map(\.record).filter { states.contains($0.state) }
        return records.sorted { first, second in
            let (one, other) = (isExpired(first), isExpired(second))
            if one != other { return one }
            let launched = directory[first.app]!.lastLaunched
            let otherLaunched = directory[second.app]!.lastLaunched
            if launched != otherLaunched { return launched < otherLaunched }
            if first.byteCount != second.byteCount { return first.byteCount > second.byteCount }
            return first.instance < second.instance
        }.map(\.instance)
    }

    private func isExpired(_ record: InstanceRecord) -> Bool {
        record.state == .prewarmed && record.deadline.map { $0 <= now } == true
    }

    /// A prewarm came to nothing. Its app waits, longer each time, and whoever waits for it hears.
    mutating func prewarmFailed(
        _ app: AppIdentifier, _ reason: ExitReason, _ refusal: Refusal? = nil
    ) {
        let retryAt = countPrewarmFailure(app)
        note(.prewarmFailed(app, reason, retryAt: retryAt))
        refusePrewarms(of: app, refusal ?? .backOff(app, until: retryAt))
        wantRefill(of: app)
    }

    private mutating func countPrewarmFailure(_ app: AppIdentifier) -> Instant {
        let failures = directory[app]!.record.prewarmFailures.addingClamped(1)
        let backOffEnd = now.advanced(by: backOff(after: failures))
        // Not sooner than after a reclaim.
        let retryAt = max(directory[app]!.record.prewarmRetryAt ?? backOffEnd, backOffEnd)
        updateApp(app) {
            $0.prewarmFailures = failures
            $0.prewarmRetryAt = retryAt
            $0.isReclaimed = false
        }
        return retryAt
    }

    mutating func launchFailed(_ app: AppIdentifier) {
        let failures = directory[app]!.record.launchFailures.addingClamped(1)
        let retryAt = now.advanced(by: backOff(after: failures))
        updateApp(app) {
            $0.launchFailures = failures
            $0.launchRetryAt = retryAt
        }
    }

    /// Doubles from the first to the cap.
    private func backOff(after failures: UInt32) -> Duration {
        // 2^20 times a first of a millisecond is past every sensible cap.
        let factor = Int64(1) << Int64(min(failures - 1, 20))
        return min(policy.backOffCap, max(.milliseconds(1), policy.backOffFirst) * factor)
    }

    mutating func crashed(_ app: AppIdentifier) {
        updateApp(app) { [now, policy] in
            $0.crashes.append(now)
            $0.crashes.removeFirst(max(0, $0.crashes.count - max(1, policy.crashLoopCount)))
        }
        let crashes = directory[app]!.record.crashes
        guard crashes.count >= policy.crashLoopCount, let first = crashes.first,
            first.duration(to: now) <= policy.crashLoopWindow
        else { return }
        let until = now.advanced(by: policy.crashLoopWindow)
        updateApp(app) { $0.crashLoopUntil = until }
        note(.crashLooped(app, until: until))
        wantRefill(of: app)
    }

    mutating func refusePrewarms(of app: AppIdentifier, _ refusal: Refusal) {
        guard let waiters = directory[app]?.prewarmWaiters, !waiters.isEmpty else { return }
        directory[app]!.prewarmWaiters = []
        for request in waiters { refuse(request, refusal) }
    }
}

extension UInt32 {
    fileprivate func addingClamped(_ other: UInt32) -> UInt32 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
