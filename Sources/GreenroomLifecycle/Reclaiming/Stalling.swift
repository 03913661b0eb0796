// How short memory is, as the kernel's reports tell it. A report raises the level at once; each level
// is left only after a quiet time without another report of it, so that it does not flutter. One
// step of taking memory back follows a report, and none follows without: what was taken may have
// been enough.

extension Lifecycle {
    /// Tasks stalled for want of memory. `none` is an administrator's word that all is well.
    mutating func stallReported(_ level: MemoryPressure) {
        guard level > .none else { return pressureFell(to: .none) }
        isPressureReported = true
        if level >= pressure { deadlines.set(.quiet, at: now.advanced(by: quietTime)) }
        if level > pressure {
            enterPressure(level)
            report(.pressureChanged(level))
        }
        takeStep()
    }

    /// The quiet time is over.
    mutating func becameQuiet() {
        pressureFell(to: pressure == .critical ? .warning : .none)
    }

    /// The next step of taking memory back. Where the quiet time ends in the same moment, that comes
    /// first: as much is not needed any more.
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

    /// Not twice within an interval, so that the first can show; a report in between is remembered.
    private mutating func takeStep() {
        if let last = lastReclaim {
            let next = last.advanced(by: max(policy.reclaimInterval, .milliseconds(1)))
            if next > now { return deadlines.set(.pressure, at: next) }
        }
        reclaim()
    }

    private var quietTime: Duration { max(policy.pressureQuietTime, .milliseconds(1)) }

    // MARK: One instance

    /// It stalls within a limit of its own, and ending others would not help it: it is warned, once in
    /// a quiet time. Behind, and with all of it stalled a step later still, it does nothing but look for
    /// memory, and is ended.
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
