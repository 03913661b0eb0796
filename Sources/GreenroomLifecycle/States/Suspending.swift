// Suspension. An instance is frozen by itself once its background grace has passed, or at once
// when a client says so; both ways lead through the background. It counts as suspended from the
// order on, and goes back to the background where the freezer could not.

extension Lifecycle {
    mutating func suspend(_ id: InstanceIdentifier) {
        move(id, to: .suspended, deadline: now.advanced(by: policy.freezeDeadline))
        effects.append(.freeze(id))
    }

    /// Not while it is being told something: it is frozen when it has done that.
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

    /// The freezer's word, or as good as: it has not said no in time.
    mutating func wasFrozen(_ id: InstanceIdentifier) {
        guard table[id]?.record.state == .suspended else { return }
        if self[id].record.deadline != nil { update(id) { $0.deadline = nil } }
        answerFreeze(of: id, .done(id, .suspended))
        if policy.pagesOutSuspended { frozen.append(id) }
    }

    /// Last of all: who has been thawed or ended since is left alone.
    mutating func pageOutFrozen() {
        for id in frozen where table[id]?.record.state == .suspended {
            effects.append(.pageOut(id))
        }
        frozen.removeAll(keepingCapacity: true)
    }

    /// It may go on already: then what it needs comes back by itself.
    mutating func pagedOut(_ id: InstanceIdentifier, byteCount: UInt64) {
        guard let record = table[id]?.record, byteCount > 0 else { return }
        report(.pagedOut(id, record.app, byteCount: byteCount))
    }

    mutating func freezeFailed(_ id: InstanceIdentifier) {
        guard table[id]?.record.state == .suspended else { return }
        answerFreeze(of: id, .refused(.freezeFailed(id)))
        thaw(id)
    }

    /// Answers who asked for the suspension. A thaw ordered meanwhile tells them where it led.
    mutating func answerFreeze(of id: InstanceIdentifier, _ answer: Answer) {
        let waiters = self[id].freezeWaiters
        guard !waiters.isEmpty else { return }
        self[id].freezeWaiters = []
        for request in waiters { self.answer(request, answer) }
    }
}
