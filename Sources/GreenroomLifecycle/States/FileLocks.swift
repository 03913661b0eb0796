// The rule of the locked file (0xdead10cc): who is frozen with a file lock makes everybody wait who
// wants that file. So the locks are looked at before the freezer is told.
//
//   no lock                              → suspended
//   a lock, its background time is over  → a grace, then looked at again; still there: ended
//   a lock, a client asked               → refused: nobody wanted its end
//
// The grace is not kept across a restart of the supervisor: it begins anew.

extension Lifecycle {
    /// Suspends it, once it is known to hold no lock.
    /// - Parameter isAsked: by a client, and its time may not be over.
    mutating func prepareSuspension(_ id: InstanceIdentifier, isAsked: Bool = false) {
        guard policy.inspectsFileLocks else { return suspend(id) }
        self[id].isAwaitingFileLocks = true
        // Whoever asked may have left when the answer comes.
        self[id].isSuspensionAsked = isAsked || !self[id].freezeWaiters.isEmpty
        // Asked again should no answer come. What a client asked for is not asked again for it.
        if let deadline = self[id].record.deadline, deadline <= now {
            update(id) { [now, policy] in $0.deadline = now.advanced(by: policy.freezeDeadline) }
        }
        effects.append(.inspectFileLocks(id))
    }

    mutating func fileLocksInspected(_ id: InstanceIdentifier, holdsLock: Bool) {
        guard let instance = table[id], instance.isAwaitingFileLocks else { return }
        self[id].isAwaitingFileLocks = false
        guard instance.record.state == .background else {
            // Something else was wanted of it meanwhile.
            return answerFreeze(of: id, .done(id, instance.record.state))
        }
        if let pending = instance.record.conversation?.pending {
            // What is wanted of it meanwhile may leave it all the time that it has.
            guard instance.record.deadline != nil else { return }
            return update(id) { $0.deadline = pending.deadline }
        }
        if isKeptRunning(id) {
            let deadline = suspensionDeadline(of: instance.record)
            return update(id) { $0.deadline = deadline }
        }
        guard holdsLock else {
            self[id].fileLockedSince = nil
            return suspend(id)
        }
        guard !instance.isSuspensionAsked, instance.freezeWaiters.isEmpty else {
            answerFreeze(of: id, .refused(.holdsFileLock(id)))
            let deadline = suspensionDeadline(of: instance.record)
            return update(id) { $0.deadline = deadline }
        }
        // Who asked has gone, and by itself it would not have been suspended.
        guard suspendsByItself(instance.record) else { return update(id) { $0.deadline = nil } }
        let since = instance.fileLockedSince ?? now
        self[id].fileLockedSince = since
        let end = since.advanced(by: policy.fileLockGrace)
        if instance.fileLockedSince != nil, end <= now {
            return self.end(id, .suspendedWithLockedFile, gently: false)
        }
        update(id) { $0.deadline = end }
    }
}
