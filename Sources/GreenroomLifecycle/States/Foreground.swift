// Foreground groups. At most one instance of a group is in front (inactive or active), apart from
// those that shells name (`ForegroundReports`). Before another one enters, the former goes from
// active through inactive to the background. Apps without a group and attached instances neither
// displace others nor are displaced.

extension Lifecycle {
    /// Sends the other instances in front of the instance's group to the background, except those
    /// that a shell says have the foreground. An instance that a shell names displaces only
    /// instances of the shell's user: users may share a group, and each has their own shells.
    mutating func displace(for id: InstanceIdentifier) {
        let record = self[id].record
        guard !record.isAttached, let group = group(of: record.app), let former = fronts[group]
        else { return }
        let shellUser = isReported(id) ? record.shellUser : nil
        for other in former.sorted() where other != id && !isReported(other) {
            if let shellUser, !isOwn(self[other].record, of: shellUser) { continue }
            sendToBackground(other)
        }
    }

    mutating func moveToFront(_ id: InstanceIdentifier) {
        // This comes before the move, because an instance that is marked as in the background does
        // not come to the front.
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
        let record = self[id].record
        move(id, to: .background, deadline: suspensionDeadline(of: record))
    }

    /// When an instance in the background is suspended without a request; nil means never.
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

    mutating func enterFront(_ record: InstanceRecord) {
        guard record.isInFront, !record.isAttached, let group = group(of: record.app) else {
            return
        }
        fronts[group, default: []].insert(record.instance)
    }

    mutating func leaveFront(_ record: InstanceRecord) {
        guard let group = group(of: record.app) else { return }
        fronts[group]?.remove(record.instance)
        if fronts[group]?.isEmpty == true { fronts[group] = nil }
    }

    /// The app's group has changed, or was unknown before. Decides again which instance is in front
    /// of the group: the one used last. For instances that shells have named, the shells decide.
    mutating func contestFront(of app: AppIdentifier) {
        let running = self[app].running.sorted()
        for id in running where self[id].record.belongsInFront { noteNamed(id) }
        guard let group = group(of: app) else { return }
        for id in running where self[id].record.isInFront {
            let rivals = fronts[group, default: []].filter { $0 != id && !shown.contains($0) }
            fronts[group, default: []].insert(id)
            guard !shown.contains(id), let rival = rivals.max(by: isUsedBefore) else { continue }
            sendToBackground(isUsedBefore(id, rival) ? id : rival)
        }
    }

    /// If a program ends with 0 soon after its launch while another instance of the app runs, it
    /// has passed its launch on to that instance (GApplication, KDBusService). The window that the
    /// user sees belongs to the other instance, which comes to the front.
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

    /// A program that may pass its launch on begins to run. The app's other instance must answer
    /// it, and so is thawed. If there are several other instances, nobody knows which one answers,
    /// and none is thawed.
    mutating func thawForwardee(of record: InstanceRecord) {
        // The instance itself acknowledges nothing until it is ready.
        guard manner(of: record.app) == .program, let app = directory[record.app],
            app.running.count + app.attached.count == 2,
            let other = app.running.first(where: { $0 != record.instance }),
            self[other].record.state == .suspended
        else { return }
        thaw(other)
    }

    /// A program takes at most this long to pass its launch on, even on a machine under load.
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
