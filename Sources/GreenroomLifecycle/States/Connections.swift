// Connections hold off suspension: whoever is connected to a frozen app, or waits to be, would get
// no answer. So the shell looks at the app's sockets just before an instance is frozen by itself,
// and once more when it is frozen:
//
//   nobody is there                       → suspended; from now on the sockets are watched
//   somebody waits or is connected        → looked again after another background grace
//   accepted between the look and the end → thawed
//
// A client that asks for a suspension gets it. A connection that waits thaws the instance at once;
// one that the app has accepted waits until the instance is thawed by something else.

extension Lifecycle {
    /// The pause between two looks at an app with a short grace is at least this long.
    static let connectionInterval: Duration = .seconds(1)

    /// Suspends the instance unless somebody is connected to it.
    mutating func suspendUnlessConnected(_ id: InstanceIdentifier) {
        guard hasSockets(id), !isSuspensionAsked(id) else { return suspend(id) }
        // The deadline asks again if no answer comes.
        if let deadline = self[id].record.deadline, deadline <= now {
            update(id) { [now, policy] in $0.deadline = now.advanced(by: policy.freezeDeadline) }
        }
        inspectConnections(of: id)
    }

    /// The instance is frozen. Somebody may have been accepted just before.
    mutating func lookForLateConnection(_ id: InstanceIdentifier) {
        guard hasSockets(id), !isSuspensionAsked(id) else { return }
        inspectConnections(of: id)
    }

    private mutating func inspectConnections(of id: InstanceIdentifier) {
        self[id].isAwaitingConnections = true
        effects.append(.inspectConnections(id))
    }

    private func hasSockets(_ id: InstanceIdentifier) -> Bool {
        directory[self[id].record.app]?.description?.hasSockets == true
    }

    private func isSuspensionAsked(_ id: InstanceIdentifier) -> Bool {
        self[id].isSuspensionAsked || !self[id].freezeWaiters.isEmpty
    }

    mutating func connectionsInspected(_ id: InstanceIdentifier, isInUse: Bool) {
        // Any change of state meanwhile makes the answer void (`move`).
        guard let instance = table[id], instance.isAwaitingConnections else { return }
        self[id].isAwaitingConnections = false
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
        guard isInUse, !isSuspensionAsked(id) else { return suspend(id) }
        let earliest = now.advanced(by: Self.connectionInterval)
        let deadline = suspensionDeadline(of: instance.record).map { max($0, earliest) }
        update(id) { $0.deadline = deadline }
    }

    /// Thaws a suspended instance for a connection, and tells it why.
    mutating func wake(_ id: InstanceIdentifier) {
        thaw(id)
        update(id) { [now] in $0.lastUsed = now }
        guard directory[self[id].record.app]?.description?.acknowledges == true else { return }
        effects.append(.notify(id, .connectionArrived))
    }
}
