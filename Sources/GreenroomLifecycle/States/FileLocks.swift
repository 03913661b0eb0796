// File locks (0xdead10cc). A process that is frozen while it holds a file lock blocks everybody who
// needs that file. So the shell looks for file locks before an instance is frozen:
//
//   no lock                              → suspended
//   a lock, its background time is over  → looked for again after a grace; if still there: ended
//   a lock, a client asked               → the request is refused, because nobody wanted an end
//
// The grace is not kept across a restart of the supervisor. It starts again.

extension Lifecycle {
    /// Suspends the instance as soon as it is known to hold no file lock.
    /// - Parameter isAsked: whether a client asks for it, possibly before the background time is
    ///   over.
    mutating func prepareSuspension(_ id: InstanceIdentifier, isAsked: Bool = false) {
        self[id].suspension.begin(isRequested: isAsked)
        guard policy.inspectsFileLocks else { return suspendUnlessConnected(id) }
        self[id].suspension.inspection = .fileLocks
        // If no answer comes, the deadline leads to another look. A client's request is not
        // repeated.
        if let deadline = self[id].record.deadline, deadline <= now {
            update(id) { [now, policy] in $0.deadline = now.advanced(by: policy.freezeDeadline) }
        }
        effects.append(.inspectFileLocks(id))
    }

    mutating func fileLocksInspected(_ id: InstanceIdentifier, holdsLock: Bool) {
        guard let instance = table[id], self[id].suspension.take(.fileLocks) else { return }
        guard instance.record.state == .background else {
            // The instance was moved to another state in the meantime.
            return answerFreeze(of: id, .done(id, instance.record.state))
        }
        if let pending = instance.record.conversation?.pending {
            // Without a deadline, the instance is not to be suspended any more, so there is nothing
            // to postpone.
            guard instance.record.deadline != nil else { return }
            return update(id) { $0.deadline = pending.deadline }
        }
        if isKeptRunning(id) {
            let deadline = suspensionDeadline(of: instance.record)
            return update(id) { $0.deadline = deadline }
        }
        guard holdsLock else {
            self[id].suspension.fileLockedSince = nil
            return suspendUnlessConnected(id)
        }
        guard !instance.suspension.isRequested else {
            answerFreeze(of: id, .refused(.holdsFileLock(id)))
            let deadline = suspensionDeadline(of: instance.record)
            return update(id) { $0.deadline = deadline }
        }
        // The client that asked is gone, and the instance would not have been suspended by itself.
        guard suspendsByItself(instance.record) else { return update(id) { $0.deadline = nil } }
        let found = instance.suspension.fileLockedSince
        let since = found ?? now
        self[id].suspension.fileLockedSince = since
        let end = since.advanced(by: policy.fileLockGrace)
        if found != nil, end <= now {
            return self.end(id, .suspendedWithLockedFile, gently: false)
        }
        update(id) { $0.deadline = end }
    }
}
