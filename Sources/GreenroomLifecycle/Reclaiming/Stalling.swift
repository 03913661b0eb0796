// The level of memory pressure, according to the kernel's reports. A report raises the level at
// once. Each level is left only after a quiet time without another report of it, so that the level
// does not change back and forth. Each report causes one reclaim. Without a further report nothing
// more is reclaimed, because the last reclaim may have been enough.

extension Lifecycle {
    /// Tasks stalled because memory is short. `none` means that an administrator says that there is
    /// enough memory.
    mutating func stallReported(_ level: MemoryPressure) {
        guard level > .none else { return pressureFell(to: .none) }
        isPressureReported = true
        if level >= pressure { deadlines.set(.quiet, at: now.advanced(by: quietTime)) }
        if level > pressure {
            enterPressure(level)
            report(.pressureChanged(level))
        }
        reclaimUnlessJustDone()
    }

    /// The quiet time is over.
    mutating func becameQuiet() {
        pressureFell(to: pressure == .critical ? .warning : .none)
    }

    /// Reclaims once more. If the quiet time ends at the same moment, the level
    /// falls first, because less is needed then.
    mutating func reclaimDue() {
        if let quiet = deadlines[.quiet], quiet <= now {
            deadlines.remove(.quiet)
            becameQuiet()
        }
        reclaim()
    }

    private mutating func pressureFell(to level: MemoryPressure) {
        guard level < pressure else { return }
        pressure = level
        schedule.needsReview = true
        report(.pressureChanged(level))
        guard level == .none else {
            return deadlines.set(.quiet, at: now.advanced(by: quietTime))
        }
        isPressureReported = false
        deadlines.remove(.quiet)
        deadlines.remove(.pressure)
    }

    /// Reclaims once, but not twice within an interval, so that the first reclaim can have an
    /// effect. If a report comes too early, the reclaim follows when the interval is over.
    private mutating func reclaimUnlessJustDone() {
        if let last = lastReclaim {
            let next = last.advanced(by: max(policy.reclaimInterval, .milliseconds(1)))
            if next > now { return deadlines.set(.pressure, at: next) }
        }
        reclaim()
    }

    private var quietTime: Duration { max(policy.pressureQuietTime, .milliseconds(1)) }

    // MARK: One instance

    /// The instance stalls within its own memory limit, and ending others would not help it. The
    /// instance is warned, at most once per quiet time. If it is in the background and all of its
    /// tasks still stall after the reclaim interval, it does nothing but look for memory, so it is
    /// ended.
    mutating func instanceStalled(_ id: InstanceIdentifier, _ level: MemoryPressure) {
        guard level > .none, let instance = table[id], !isRestoring else { return }
        switch instance.record.state {
        case .launching, .inactive, .active, .background: break
        case .prewarming, .prewarmed, .suspended, .terminating, .notRunning: return
        }
        guard let since = instance.stalledAt, since.advanced(by: quietTime) > now else {
            self[id].stalledAt = now
            report(.instanceStalled(id, instance.record.app, level))
            warnOfPressure(id)
            return
        }
        let isLate = since.advanced(by: max(policy.reclaimInterval, .milliseconds(1))) <= now
        guard level == .critical, isLate, !isShuttingDown, !instance.record.isAttached,
            instance.record.state == .background
        else { return }
        reclaim(id, level)
    }
}
