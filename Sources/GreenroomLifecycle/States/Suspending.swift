// Suspension. The daemon freezes an instance after its background grace, or at once if a client
// asks. In both cases the instance goes to the background first. It counts as suspended from the
// order to freeze on, and returns to the background if the freezer fails.

extension Lifecycle {
    mutating func suspend(_ id: InstanceIdentifier) {
        move(id, to: .suspended, deadline: now.advanced(by: policy.freezeDeadline))
        effects.append(.freeze(id))
    }

    /// Suspends the instance; if a step is under way, after that step.
    mutating func backgroundTimeIsOver(_ id: InstanceIdentifier) {
        guard let pending = self[id].record.conversation?.pending else {
            return isKeptRunning(id) ? taskTimeIsOver(id) : prepareSuspension(id)
        }
        update(id) { $0.deadline = pending.deadline }
    }

    /// Thaws a suspended instance into the background.
    mutating func thaw(_ id: InstanceIdentifier) {
        effects.append(.thaw(id))
        answerFreeze(of: id, .done(id, .background))
        update(id) { $0.inBackground = true }
        beginStay(id)
        move(id, to: .background, deadline: suspensionDeadline(of: self[id].record))
        tellMissed(id)
    }

    /// The freezer has confirmed the freeze, or has not reported a failure in time, which counts as
    /// a confirmation.
    mutating func wasFrozen(_ id: InstanceIdentifier) {
        if table[id]?.record.state == .prewarmed { return threadsWereFrozen(id, true) }
        guard table[id]?.record.state == .suspended else { return }
        if self[id].record.phase == .freezing {
            update(id) {
                $0.course = $0.course.running(.frozen)
                $0.deadline = nil
            }
        }
        answerFreeze(of: id, .done(id, .suspended))
        inspectLateConnection(id)
        if policy.pagesOutSuspended { frozen.append(id) }
    }

    /// Called at the end of the event, so that instances which were thawed or ended in the meantime
    /// are left alone.
    mutating func pageOutFrozen() {
        for id in frozen where table[id]?.record.state == .suspended {
            effects.append(.pageOut(id))
        }
        frozen.removeAll(keepingCapacity: true)
    }

    /// The instance may already run again. The kernel then reads back what it needs.
    mutating func pagedOut(_ id: InstanceIdentifier, byteCount: UInt64) {
        guard let record = table[id]?.record, byteCount > 0 else { return }
        report(.pagedOut(id, record.app, byteCount: byteCount))
    }

    mutating func freezeFailed(_ id: InstanceIdentifier) {
        if table[id]?.record.state == .prewarmed { return threadsWereFrozen(id, false) }
        guard table[id]?.record.state == .suspended else { return }
        answerFreeze(of: id, .refused(.freezeFailed(id)))
        thaw(id)
    }

    /// Answers the requests to suspend the instance. If a thaw was ordered in the meantime, the
    /// answer tells the resulting state.
    mutating func answerFreeze(of id: InstanceIdentifier, _ answer: Answer) {
        let waiters = self[id].suspension.waiters
        guard !waiters.isEmpty else { return }
        self[id].suspension.waiters = []
        for request in waiters { self.answer(request, answer) }
    }
}
