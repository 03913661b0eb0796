// Reclaiming memory, in this order and never more than the pressure allows:
//   1. prewarmed and prewarming: expired, then least valuable first  (warning and critical)
//   2. suspended: largest, then least recently used                  (warning: one each time)
//   3. background: largest, then least recently used, SIGTERM first  (critical: one each time)
// Instances that are launching, inactive, active or attached are never reclaimed. Memory is
// reclaimed when the pressure is reported (`Stalling`). If an administrator has set the pressure,
// memory is also reclaimed whenever it is measured, and every `reclaimInterval` while anything is
// left to reclaim.

extension Lifecycle {
    /// Sets the pressure until it is set or reported again. (A level from `stallReported` falls by
    /// itself.)
    mutating func pressureChanged(_ pressure: MemoryPressure) {
        isPressureReported = false
        deadlines.remove(.quiet)
        self.pressure = pressure
        schedule.needsReview = true
        // During a restart an instance that is recorded as running may still be frozen and could
        // not act on SIGTERM.
        if isRestoring { return }
        guard pressure >= .warning else { return deadlines.remove(.pressure) }
        enterPressure(pressure)
        reclaim()
    }

    mutating func enterPressure(_ pressure: MemoryPressure) {
        self.pressure = pressure
        for app in directory.keys.sorted() { refusePrewarms(of: app, .overBudget(app)) }
        warnOfPressure()
    }

    mutating func reclaim() {
        guard pressure >= .warning, !isShuttingDown, !isRestoring else {
            return deadlines.remove(.pressure)
        }
        lastReclaim = now
        let prewarms = prewarmsByValue(including: [.prewarming, .prewarmed])
        let suspended = largestFirst(.suspended)
        for id in prewarms { reclaim(id) }
        switch pressure {
        case .none: break
        case .warning: if prewarms.isEmpty, let first = suspended.first { reclaim(first) }
        case .critical:
            for id in suspended { reclaim(id) }
            if prewarms.isEmpty && suspended.isEmpty, let first = largestFirst(.background).first {
                reclaim(first)
            }
        }
        guard !isPressureReported else { return deadlines.remove(.pressure) }
        let isMore =
            !largestFirst(.suspended).isEmpty
            || (pressure == .critical && !largestFirst(.background).isEmpty)
        let step = max(policy.reclaimInterval, .milliseconds(1))
        deadlines.set(.pressure, at: isMore ? now.advanced(by: step) : nil)
    }

    private func largestFirst(_ state: ExecutionState) -> [InstanceIdentifier] {
        let records = table.values.map(\.record).filter { $0.state == state && !$0.isAttached }
        return records.sorted { first, second in
            if first.byteCount != second.byteCount { return first.byteCount > second.byteCount }
            return (first.lastUsed, first.instance) < (second.lastUsed, second.instance)
        }.map(\.instance)
    }

    private mutating func reclaim(_ id: InstanceIdentifier) { reclaim(id, pressure) }

    mutating func reclaim(_ id: InstanceIdentifier, _ pressure: MemoryPressure) {
        let record = self[id].record
        report(
            .reclaimed(
                id, record.app, byteCount: record.byteCount, pressure, from: record.state))
        if record.state.isPrewarm { delayPrewarms(record.app) }
        // A suspended app is killed without a callback, as in UIKit. A running app is asked to end.
        end(id, .reclaimed, gently: record.state == .background)
    }

    /// Keeps the app from being prewarmed as soon as the pressure falls, which would raise the
    /// pressure again.
    private mutating func delayPrewarms(_ app: AppIdentifier) {
        let pause = now.advanced(by: policy.reclaimPause)
        updateApp(app) {
            $0.prewarmRetryAt = max($0.prewarmRetryAt ?? pause, pause)
            $0.isReclaimed = true
        }
    }

    /// The kernel killed a paused instance to free memory for others, as the daemon would have
    /// done, so the app has not failed.
    mutating func poolTaken(_ app: AppIdentifier) {
        delayPrewarms(app)
        refusePrewarms(of: app, .backOff(app, until: self[app].record.prewarmRetryAt!))
        wantRefill(of: app)
    }

    /// Whether an app is not prewarmed before `time` because its memory was reclaimed, and not
    /// because it failed.
    public func isPausedByReclaim(_ app: AppIdentifier, until time: Instant) -> Bool {
        guard let record = directory[app]?.record else { return false }
        return record.isReclaimed && record.prewarmRetryAt == time
    }

    mutating func memoryMeasured(_ id: InstanceIdentifier, byteCount: UInt64) {
        guard let record = table[id]?.record, record.state != .notRunning else { return }
        // While an instance is on its way to the pause, `byteCount` is the memory that is set aside
        // for it.
        if record.state != .prewarming && record.byteCount != byteCount {
            resize(id, to: byteCount)
        }
        if record.state == .prewarmed {
            noteSize(of: self[id].record)
            enforceBudget()
        }
        if pressure >= .warning, !isPressureReported { reclaim() }
    }
}
