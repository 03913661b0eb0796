// Apps whose manifests let the daemon decide when to prewarm them (`PrewarmOccasion.auto`). From
// past launches, the shell has a plan made that names the apps that are worth their memory. The
// core treats them like other apps: the plan gives no right to places or bytes, and every hold,
// back-off and share applies.
//
//   in the plan, its user has a session → its pool is kept
//   no longer in the plan               → what is paused is ended, unless a client asked for it
//
// An instance that the plan alone keeps does not become too old by itself. Otherwise each would be
// prepared again every ten minutes while nobody is there. When it reaches its age limit,
//
//   the manifest sets the limit         → it ends, as do those that a client asked for
//   nothing of the program runs         → it stays, and has no limit any more: the files that it was
//                                         made from are watched, and launches compare the rest
//   it is held at its window            → it stays for as long again, unless somebody has used the
//                                         machine since it paused: then what the program has read
//                                         by itself may have changed

/// What the planner must know about an app.
public struct PlannableApp: Hashable, Sendable {
    public var app: AppIdentifier
    public var user: UInt32
    /// The memory of the app's full pool, in bytes.
    public var byteCount: UInt64
    /// The time that the last prewarm took, from the spawn to the pause. Nil if this daemon has not
    /// seen one.
    public var preparation: Duration?
    /// How far the next instance will be prepared.
    public var depth: PrewarmDepth
    /// Whether the app says when it is ready. So cold launches and launches from the pool take
    /// comparable times.
    public var tellsReadiness: Bool
    public var isWarm: Bool
}

extension Lifecycle {
    mutating func planned(_ apps: Set<AppIdentifier>) {
        let (came, went) = (apps.subtracting(plan), plan.subtracting(apps))
        plan = apps
        for app in went.sorted() {
            guard let entry = directory[app], entry.description?.prewarmOccasion == .auto,
                warmCount(of: app) == 0
            else {
                if directory[app] != nil { limitAges(of: app) }
                continue
            }
            for id in entry.pool + entry.filling { end(id, .poolTrimmed, gently: false) }
        }
        for app in came.sorted() where directory[app] != nil { wantRefill(of: app) }
    }

    /// Whether the instance stays although it has reached its age limit.
    func outlivesLimit(_ record: InstanceRecord) -> Bool {
        isKeptByPlanAlone(record)
            && (record.depth != .window || schedule.lastUse < record.since)
    }

    /// The app's instances with its latest environment, while the app is in the plan, no client
    /// asked for them and its manifest sets no limit.
    private func isKeptByPlanAlone(_ record: InstanceRecord) -> Bool {
        guard let entry = directory[record.app], let description = entry.description else {
            return false
        }
        return description.prewarmOccasion == .auto && description.prewarmTimeToLive == nil
            && entry.isEligible && isPlanned(description.value) && !entry.record.isPoolWanted
            && !isSpare(record)
    }

    mutating func outliveLimit(_ id: InstanceIdentifier) {
        let record = self[id].record
        let next = record.depth == .window ? ageLimit(timeToLive(of: record.app)) : nil
        update(id) { $0.deadline = next }
    }

    /// What the plan alone kept may have another reason to be kept now, and so a limit again.
    mutating func limitAges(of app: AppIdentifier) {
        for id in self[app].pool
        where self[id].record.deadline == nil && !isKeptByPlanAlone(self[id].record) {
            let limit = ageLimit(timeToLive(of: app))
            update(id) { $0.deadline = limit }
        }
    }

    /// A paused instance without an age limit that the plan does not keep. There should be none.
    var ageFault: String? {
        guard !isRestoring else { return nil }
        let ageless = table.values.map(\.record).first {
            $0.state == .prewarmed && $0.deadline == nil && !isKeptByPlanAlone($0)
        }
        return ageless.map { "\($0.instance) has no age limit" }
    }

    func isPlanned(_ description: AppDescription) -> Bool {
        plan.contains(description.identifier) && hasSession(description)
    }

    /// Whether the app is kept warm because the last plan contains it.
    public func isPlanned(_ app: AppIdentifier) -> Bool {
        directory[app]?.description.map { isPlanned($0.value) } == true
    }

    /// The apps that a plan may contain, by identifier: apps with the occasion `auto` that can be
    /// paused and whose user has a login session.
    public var plannable: [PlannableApp] {
        directory.values.compactMap { entry in
            guard let description = entry.description, description.prewarmOccasion == .auto,
                description.prewarmCount > 0, entry.isEligible, hasSession(description.value)
            else { return nil }
            let byteCount = reserve(for: description.identifier, plannedDepth(entry.value))
            let key = entry.poolKey ?? description.environmentKey
            return PlannableApp(
                app: description.identifier, user: description.user,
                byteCount: byteCount * UInt64(description.prewarmCount),
                preparation: entry.prewarmTime, depth: depth(of: description.identifier, key),
                tellsReadiness: description.readyCondition != .exec, isWarm: !entry.pool.isEmpty)
        }.sorted { $0.app < $1.app }
    }

    /// How many bytes a plan may use: the budget minus the memory of other apps' paused instances,
    /// and of the budget for held windows as much as apps of the plan could use.
    public var plannableByteCount: UInt64 {
        var (others, otherHeld, wanted) = (UInt64(0), UInt64(0), UInt64(0))
        for instance in table.values where instance.record.state.isPrewarm {
            let record = instance.record
            guard directory[record.app]?.description?.prewarmOccasion != .auto else { continue }
            if record.depth == .window {
                otherHeld += record.byteCount
            } else {
                others += record.byteCount
            }
        }
        for app in plannable where directory[app.app].map({ plannedDepth($0.value) }) == .window {
            wanted += app.byteCount
        }
        let heldRoom = policy.windowByteBudget - min(otherHeld, policy.windowByteBudget)
        return policy.prewarmByteBudget - min(others, policy.prewarmByteBudget)
            + min(wanted, heldRoom)
    }

    private func plannedDepth(_ app: App) -> PrewarmDepth {
        app.poolKey.map { depth(of: app.record.app, $0) } ?? .main
    }
}
