// Foreground groups. At most one instance of a group is in front (inactive or active). The former
// one first goes from active through inactive to the background. Apps without a group and attached
// instances displace no other and are displaced by none.

extension Lifecycle {
    /// Sends the instance that is in front of the group to the background.
    mutating func displace(for id: InstanceIdentifier) {
        let record = self[id].record
        guard !record.isAttached, let group = group(of: record.app), let previous = fronts[group],
            previous != id
        else { return }
        sendToBackground(previous)
    }

    mutating func moveToFront(_ id: InstanceIdentifier) {
        // Before the move, because an instance that is marked as in the background does not take
        // the front.
        update(id) { $0.inBackground = false }
        if self[id].record.state != .active {
            if self[id].record.state != .inactive { move(id, to: .inactive) }
            if !isInterrupted(id) { move(id, to: .active) }
        }
        update(id) { [now] in $0.lastUsed = now }
    }

    mutating func moveToBackground(_ id: InstanceIdentifier) {
        if self[id].record.state == .active { move(id, to: .inactive) }
        update(id) {
            $0.inBackground = true
            $0.isInterrupted = false
        }
        move(id, to: .background, deadline: suspensionDeadline(of: self[id].record))
    }

    /// When an instance in the background is suspended by itself; nil means never.
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

    /// The app's group has changed, or was unknown before. Decides again which instance is in front
    /// of the group: the one used last.
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

    /// A program that has ended soon after its launch, with 0, while another instance of the app
    /// runs, has passed its launch on to that one (GApplication, KDBusService): the window that the
    /// user sees belongs to the other, which comes to the front.
    mutating func frontPasses(from record: InstanceRecord) {
        guard record.manner == .program, !record.isAttached, !record.inBackground,
            record.state.isRunning, let launchedAt = record.launchedAt,
            launchedAt.duration(to: now) < Self.forwardingTime
        else { return }
        let others = (directory[record.app]?.running ?? []).filter {
            $0 != record.instance && self[$0].record.exitStatus == nil
                && self[$0].record.state != .launching
        }
        guard let other = others.max(by: isUsedBefore) else { return }
        if self[other].record.state == .suspended { thaw(other) }
        activate(other)
    }

    /// A program that forwards its launch takes this long at most, on a machine under load too.
    private static let forwardingTime: Duration = .seconds(30)

    func isUsedBefore(_ one: InstanceIdentifier, _ other: InstanceIdentifier) -> Bool {
        let (first, second) = (self[one].record, self[other].record)
        return (first.lastUsed, first.instance) < (second.lastUsed, second.instance)
    }
}

extension InstanceRecord {
    /// Whether a step is under way, or the instance is to come to the front.
    var isTravelling: Bool {
        conversation.map { $0.pending != nil || $0.wantsForeground } ?? false
    }
}
