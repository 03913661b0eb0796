// Foreground groups. At most one instance of a group is in front (inactive or active); the one
// before it goes active → inactive → background first. Apps without a group, and attached
// instances, displace nobody and are displaced by nobody.

extension Lifecycle {
    /// Whoever is in front of its group makes room.
    mutating func displace(for id: InstanceIdentifier) {
        let record = self[id].record
        guard !record.isAttached, let group = group(of: record.app), let previous = fronts[group],
            previous != id
        else { return }
        sendToBackground(previous)
    }

    mutating func moveToFront(_ id: InstanceIdentifier) {
        // Before it moves: an instance on the way back does not take the front.
        update(id) { $0.inBackground = false }
        if self[id].record.state != .active {
            if self[id].record.state != .inactive { move(id, to: .inactive) }
            move(id, to: .active)
        }
        update(id) { [now] in $0.lastUsed = now }
    }

    mutating func moveToBackground(_ id: InstanceIdentifier) {
        if self[id].record.state == .active { move(id, to: .inactive) }
        update(id) { $0.inBackground = true }
        move(id, to: .background, deadline: suspensionDeadline(of: self[id].record))
    }

    /// When an instance in the background is frozen by itself; nil for never.
    func suspensionDeadline(of record: InstanceRecord) -> Instant? {
        guard !record.isAttached, let description = directory[record.app]?.description,
            description.suspendsInBackground
        else { return nil }
        if let time = record.background.value, time.isOpen {
            return backgroundDeadline(time, record.deadline)
        }
        return now.advanced(by: description.backgroundGrace ?? policy.backgroundGrace)
    }

    func group(of app: AppIdentifier) -> String? { directory[app]?.description?.foregroundGroup }

    mutating func takeFront(_ record: InstanceRecord) {
        guard record.isInFront, !record.isAttached, let group = group(of: record.app) else {
            return
        }
        fronts[group] = record.instance
    }

    mutating func leaveFront(_ record: InstanceRecord) {
        guard let group = group(of: record.app), fronts[group] == record.instance else { return }
        fronts[group] = nil
    }

    /// The app's group is new, or new to us: what stands in front of it is decided again, the
    /// latest used first.
    mutating func contestFront(of app: AppIdentifier) {
        guard let group = group(of: app) else { return }
        let candidates = self[app].running.filter { self[$0].record.isInFront }
        for id in candidates.sorted() {
            guard let holder = fronts[group], holder != id else {
                fronts[group] = id
                continue
            }
            let loser = isUsedBefore(id, holder) ? id : holder
            sendToBackground(loser)
            fronts[group] = loser == id ? holder : id
        }
    }

    func isUsedBefore(_ one: InstanceIdentifier, _ other: InstanceIdentifier) -> Bool {
        let (first, second) = (self[one].record, self[other].record)
        return (first.lastUsed, first.instance) < (second.lastUsed, second.instance)
    }
}

extension InstanceRecord {
    /// A step of it is under way, or it is wanted in front.
    var isTravelling: Bool {
        conversation.map { $0.pending != nil || $0.wantsForeground } ?? false
    }
}
