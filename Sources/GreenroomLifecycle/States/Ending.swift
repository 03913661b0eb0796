// Endings. Two facts make an end final: the main process has ended, and no process is left.
//
//   prewarming, prewarmed, undecided → SIGKILL: nothing has run that would have to clean up
//   suspended                        → thaw, then as below; SDK apps: SIGKILL (UIKit)
//   SDK apps that run                → willTerminate; after the acknowledgement a moment to exit by
//                                      themselves, then as below
//   all others                       → SIGTERM, and SIGKILL after the grace
//   force-quit, watchdog             → SIGKILL
//   main ended, processes left       → SIGKILL to the rest. If a client's program (run) ended by
//                                      itself, the rest keeps running, as in a shell: the client is
//                                      told about the end at once; the instance goes when it is empty
//
// SIGKILL is repeated (`killRetry`, `killPersistence`), because a process may be in an
// uninterruptible sleep.

extension Lifecycle {
    mutating func end(_ id: InstanceIdentifier, _ reason: ExitReason, gently: Bool) {
        guard let instance = table[id], instance.record.state != .notRunning else { return }
        guard instance.record.state != .terminating else { return hasten(id, reason) }
        let order = gently ? instance.record.gentleEnd : .kill
        let refusal: Refusal = reason == .shutdown ? .shuttingDown : .ended(id, reason)
        failLaunch(id, refusal)
        answerFreeze(of: id, .refused(.ended(id, reason)))
        if order == .thawAndTerminate { effects.append(.thaw(id)) }
        switch order {
        case .kill: effects.append(.kill(id))
        case .terminate, .thawAndTerminate: effects.append(.terminate(id))
        case .tell: tellOfItsEnd(id)
        }
        let patience = order == .kill ? policy.killRetry : grace(of: instance.record.app)
        let end = instance.record.orderedEnd(reason)
        move(id, to: end, deadline: now.advanced(by: patience))
    }

    private func grace(of app: AppIdentifier) -> Duration {
        directory[app]?.description?.terminateGrace ?? policy.terminateGrace
    }

    /// The instance is being ended already. A force-quit does not wait for the grace.
    private mutating func hasten(_ id: InstanceIdentifier, _ reason: ExitReason) {
        guard reason == .forceQuit else { return }
        effects.append(.kill(id))
        update(id) { [now, policy] in
            if $0.exitStatus == nil { $0.end = $0.orderedEnd(.forceQuit) }
            $0.deadline = now.advanced(by: policy.killRetry)
        }
    }

    mutating func endingDeadlineReached(_ id: InstanceIdentifier) {
        let record = self[id].record
        let elapsed = record.since.duration(to: now)
        let isAsked = record.lastState?.isRunning == true && record.launchedAt != nil
        let isOver = elapsed > grace(of: record.app) + policy.killPersistence
        let next = now.advanced(by: max(policy.killRetry, .milliseconds(1)))
        update(id) {
            if isAsked, $0.exitStatus == nil, $0.endReason == .terminated {
                $0.end = $0.orderedEnd(.terminateTimeout)
            }
            $0.deadline = isOver ? nil : next
        }
        deadlines.remove(.step(id))
        effects.append(.kill(id))
        // Launches no longer wait for it, nor does an instance that is to be held.
        if isOver { availabilityChanged(of: record.app) }
        if isOver, record.wantsName { wantRefill(of: record.app) }
    }

    mutating func exited(_ id: InstanceIdentifier, _ status: ExitStatus) {
        guard let instance = table[id], instance.record.exitStatus == nil,
            instance.record.state != .notRunning
        else { return }
        if instance.prewarm == .toldToGo(hasChannel: false), instance.record.phase == .toldToGo {
            // Status 0 does not tell whether the instance ran, because a paused process that finds
            // nobody at the other end also exits with 0.
            started(id)
            return exited(id, .unknown)
        }
        let record = instance.record
        defer { if status == .exited(0) { frontPasses(from: record) } }
        let isFallingBack = record.phase == .toldToGo
        let reason = record.endReason ?? exitReason(instance, status)
        if isFallingBack { relaunch(insteadOf: id) } else { failLaunch(id, .ended(id, reason)) }
        answerFreeze(of: id, .refused(.ended(id, reason)))
        let exit = InstanceEnd.Exit(
            status: status, reason: reason, at: now, from: record.lastState ?? record.state)
        update(id) { $0.end = $0.state == .terminating ? .rest(exit) : .left(exit) }
        if record.endReason == nil { countExit(record, reason, status) }
        noteEndTime(of: instance, status)
        judgeState(self[id].record)
        programEnded(self[id].record)
        if record.isEmpty { return finish(id, exit) }
        if leavesRest(record) { return answerExit(of: id) }
        effects.append(.kill(id))
        let deadline = now.advanced(by: policy.killRetry)
        if record.state == .terminating {
            update(id) { $0.deadline = deadline }
        } else {
            move(id, to: .rest(exit), deadline: deadline)
        }
    }

    /// Answers the requests that wait for the end. The instance is kept until it is empty, but no
    /// request waits for that.
    private mutating func answerExit(of id: InstanceIdentifier) {
        let record = self[id].record
        let waiters = self[id].endWaiters
        self[id].endWaiters = []
        for waiter in waiters { answer(waiter.request, .exited(record)) }
    }

    private func exitReason(_ instance: Entry<Instance>, _ status: ExitStatus) -> ExitReason {
        if let reason = instance.memoryEnd, case .signaled(9, _) = status { return reason }
        if instance.record.state.isPrewarm { return .prewarmFailed }
        if instance.record.phase == .toldToGo { return .goFailed }
        switch status {
        case .exited: return .exitedSelf
        case .signaled(let signal, _):
            let isOrdinary =
                ExitStatusSet.clean.contains(status) || instance.sentSignals.contains(signal)
            return isOrdinary ? .exitedSelf : .crashed
        case .unknown: return .unknown
        }
    }

    mutating func outOfMemory(_ id: InstanceIdentifier, isCertain: Bool, isOwnLimit: Bool) {
        guard let record = table[id]?.record, record.state != .notRunning else { return }
        self[id].memoryEnd = isCertain ? .outOfMemory : .probablyOutOfMemory
        if record.wasOverOwnLimit != isOwnLimit { update(id) { $0.wasOverOwnLimit = isOwnLimit } }
    }

    /// The channel of a paused instance closes when it is killed, and that is reported before its
    /// end.
    ///
    /// - Parameter isOwnDoing: whether the instance itself closed the channel, by ending or
    ///   otherwise. If a later supervisor finds the channel lost, or the spawner is gone, too, the
    ///   cause is a different one, and the app keeps its depth.
    mutating func pausedChannelLost(_ id: InstanceIdentifier, isOwnDoing: Bool = false) {
        guard let instance = table[id], let reason = instance.memoryEnd else {
            guard isOwnDoing, let record = table[id]?.record else {
                prewarmFailed(self[id].record.app, .prewarmFailed)
                return end(id, .prewarmFailed, gently: false)
            }
            if demoteHeld(record, .endedHeld) { return end(id, .prewarmFailed, gently: false) }
            return prewarmTimedOut(id, .ended)
        }
        countPrewarmEnd(instance.record, reason)
        end(id, reason, gently: false)
    }

    /// Counts an end that nobody ordered: as a failure of the app, or as none.
    private mutating func countExit(
        _ record: InstanceRecord, _ reason: ExitReason, _ status: ExitStatus
    ) {
        if record.state.isPrewarm {
            guard reason == .prewarmFailed else { return countPrewarmEnd(record, reason) }
            guard noteOwnEnd(record, status) else { return prewarmFailed(record.app, reason) }
            if demoteHeld(record, .endedHeld) { return }
            return countPrewarmEnd(record, reason)
        }
        if reason.row.isCrash(of: record) { crashed(record.app) }
        if record.state == .launching && reason.row.launch == .failed { launchFailed(record.app) }
    }

    /// If this many prewarms in a row end by a SIGKILL or SIGTRAP that nobody ordered, before their
    /// pause, the app is to blame.
    public static let unorderedKillLimit = 3

    /// Whether a program that was not launched has ended by itself. On its way to its pause it may
    /// have been killed by somebody else, such as a user, a program that frees memory, or the kernel
    /// when the spawner ended that traced it. (If the spawner ends before it has seen the program's
    /// first execve, nobody takes the SIGTRAP of that, and the program ends by it.)
    private mutating func noteOwnEnd(_ record: InstanceRecord, _ status: ExitStatus) -> Bool {
        switch status {
        case .signaled(5, _) where record.state == .prewarming,
            .signaled(9, _) where record.state == .prewarming:
            return isLastUnorderedKill(of: record.app)
        case .signaled, .exited:
            self[record.app].unorderedKillCount = 0
            return true
        case .unknown: return false
        }
    }

    /// Counts the kill. The last one of a row ends the row.
    private mutating func isLastUnorderedKill(of app: AppIdentifier) -> Bool {
        self[app].unorderedKillCount += 1
        guard self[app].unorderedKillCount >= Self.unorderedKillLimit else { return false }
        self[app].unorderedKillCount = 0
        return true
    }

    private mutating func countPrewarmEnd(_ record: InstanceRecord, _ reason: ExitReason) {
        let isTaken = reason.row.isForMemory && !record.wasOverOwnLimit
        if isTaken { return poolTaken(record.app) }
        if reason == .prewarmFailed, demote(record, .ended) { return }
        prewarmFailed(record.app, reason)
    }

    mutating func emptied(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record, record.state != .notRunning else {
            return effects.append(.release(id, table[id]?.record.app))
        }
        guard !record.isEmpty else { return }
        if let exit = record.end.exit { return finish(id, exit) }
        update(id) { $0.end = .deserted(ordered: $0.endReason) }
    }

    mutating func spawnFailed(_ id: InstanceIdentifier, _ failure: SpawnFailure) {
        guard let instance = table[id], instance.record.state != .notRunning,
            instance.record.exitStatus == nil
        else { return }
        let record = instance.record
        let refusal = Refusal.spawnFailed(record.app, failure)
        failLaunch(id, refusal)
        if record.state.isPrewarm { prewarmFailed(record.app, .spawnFailed, refusal) }
        if record.state == .launching { launchFailed(record.app) }
        finish(
            id,
            InstanceEnd.Exit(
                status: nil, reason: record.endReason ?? .spawnFailed, at: now,
                from: record.lastState ?? record.state))
    }

    /// Makes the end final: answers the requests that wait, releases the instance, and keeps its
    /// record for a while.
    private mutating func finish(_ id: InstanceIdentifier, _ exit: InstanceEnd.Exit) {
        move(id, to: .over(exit))
        let record = self[id].record
        // These requests were to suspend the processes that a program left behind, but the last of
        // those ended first.
        answerFreeze(of: id, .refused(.ended(id, record.endReason ?? .unknown)))
        let waiters = self[id].endWaiters
        self[id].endWaiters = []
        for waiter in waiters {
            answer(waiter.request, waiter.orderedIt ? .done(id, .notRunning) : .exited(record))
        }
        report(.exited(record))
        effects.append(.release(id, record.app))
        ended.append(id, of: user(of: record.app))
        // Of an instance whose program's end nobody has reported, this is the end.
        nameMayBeFree(record)
        supervise(record)
        availabilityChanged(of: record.app, because: record.endReason)
        forgetOldEnds()
    }

    /// The user that the app's ends are counted for. For an app that was removed, this is the
    /// administrator.
    func user(of app: AppIdentifier) -> UInt32 {
        directory[app]?.description?.user ?? policy.administrator
    }

    /// Forgets ends beyond the limit, but never the latest one, whose record must be saved before
    /// its processes are released.
    mutating func forgetOldEnds() {
        while ended.count > max(1, policy.rememberedExits), let id = ended.popFirst() {
            let instance = table.removeValue(forKey: id)!
            let app = instance.record.app
            let names = instance.served.map(\.launchIdentifier)
            for name in names + [instance.record.launchIdentifier].compactMap({ $0 }) {
                launchNames.remove(name, of: app, id)
            }
            self[app].members.remove(id)
            effects.append(.erase(id))
            forgetIfUnused(app)
        }
    }

    mutating func shutdownRequested() {
        isShuttingDown = true
        for app in directory.keys.sorted() {
            refusePrewarms(of: app, .shuttingDown)
            // The pending start is dropped too. If the shutdown is cancelled, autostart decides
            // again.
            clearStart(app)
        }
        for app in blocked.keys.sorted() { refuseBlocked(app, .shuttingDown) }
        for app in directory.keys.sorted() where self[app].isListening {
            reviewSocket(of: app)
        }
        for id in table.keys.sorted() { end(id, .shutdown, gently: true) }
    }
}
