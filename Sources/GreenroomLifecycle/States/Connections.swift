// Connections postpone suspension, because a client that is connected to a frozen app, or waits to
// be accepted, would get no answer. So the shell inspects the app's sockets before the daemon
// freezes an instance by itself, and again once the instance is frozen:
//
//   nobody is there                       → suspended; from now on the sockets are watched
//   somebody waits or is connected        → inspected again after another background grace
//   accepted between the two inspections  → thawed
//
// A client's request for suspension is carried out. A waiting connection then thaws the instance at
// once; a connection that the app has accepted waits until something else thaws the instance.

extension Lifecycle {
    /// The time between two inspections of an app with a short grace is at least this long.
    static let connectionInterval: Duration = .seconds(1)

    /// Suspends the instance unless somebody is connected to it.
    mutating func suspendUnlessConnected(_ id: InstanceIdentifier) {
        guard hasSockets(id), !self[id].suspension.isRequested else { return suspend(id) }
        // If no answer comes, the deadline leads to another request.
        if let deadline = self[id].record.deadline, deadline <= now {
            update(id) { [now, policy] in $0.deadline = now.advanced(by: policy.freezeDeadline) }
        }
        inspectConnections(of: id)
    }

    /// The instance is frozen. It may have accepted a connection just before.
    mutating func inspectLateConnection(_ id: InstanceIdentifier) {
        guard hasSockets(id), !self[id].suspension.isRequested else { return }
        inspectConnections(of: id)
    }

    private mutating func inspectConnections(of id: InstanceIdentifier) {
        self[id].suspension.inspection = .connections
        effects.append(.inspectConnections(id))
    }

    private func hasSockets(_ id: InstanceIdentifier) -> Bool {
        directory[self[id].record.app]?.description?.hasSockets == true
    }

    mutating func connectionsInspected(_ id: InstanceIdentifier, isInUse: Bool) {
        guard let instance = table[id], self[id].suspension.take(.connections) else { return }
        guard instance.record.state == .background else {
            if isInUse { wake(id) }
            return
        }
        if let pending = instance.record.conversation?.pending {
            return update(id) { $0.deadline = pending.deadline }
        }
        guard !isKeptRunning(id) else {
            let deadline = suspensionDeadline(of: instance.record)
            return update(id) { $0.deadline = deadline }
        }
        guard isInUse, !self[id].suspension.isRequested else { return suspend(id) }
        let earliest = now.advanced(by: Self.connectionInterval)
        let deadline = suspensionDeadline(of: instance.record).map { max($0, earliest) }
        update(id) { $0.deadline = deadline }
    }

    /// Thaws a suspended instance for a connection, and tells it why.
    mutating func wake(_ id: InstanceIdentifier) {
        thaw(id)
        update(id) { [now] in $0.lastUsed = now }
        guard manner(of: self[id].record.app) == .acknowledging else { return }
        effects.append(.notify(id, .connectionArrived))
    }
}
