// What the shell may ask the core. No query changes anything.

extension Lifecycle {
    /// Why the app is not prewarmed, if a prewarm misfired.
    public func misfire(of app: AppIdentifier) -> Misfire.Kind? {
        guard let entry = directory[app], entry.hasMisfired else { return nil }
        return entry.record.misfireKind
    }

    /// All instances, including those that have ended and are remembered, by identifier. This costs
    /// O(n log n).
    public var instances: [InstanceRecord] {
        table.values.map(\.record).sorted { $0.instance < $1.instance }
    }

    public func instance(_ id: InstanceIdentifier) -> InstanceRecord? { table[id]?.record }

    /// The instances that served a launch of this name, at most one for each app.
    public func instances(of launch: LaunchIdentifier) -> [InstanceRecord] {
        launchNames[launch].compactMap { table[$0]?.record }
    }

    /// The instances of one app, including those that have ended and are remembered, by identifier.
    public func instances(of app: AppIdentifier) -> [InstanceRecord] {
        (directory[app]?.members.sorted() ?? []).compactMap { table[$0]?.record }
    }

    /// The states of one app's instances, in no order. Copies no records, because there may be
    /// many: ended instances are remembered.
    public func states(of app: AppIdentifier) -> [ExecutionState] {
        (directory[app]?.members ?? []).compactMap { table[$0]?.record.state }
    }

    /// The saved records of all apps that are not removed, by identifier.
    public var apps: [AppRecord] {
        directory.values.filter { !$0.isRemoved }.map(\.record).sorted { $0.app < $1.app }
    }

    public func app(_ app: AppIdentifier) -> AppRecord? { directory[app]?.record }

    /// Whether a launch or a prewarm of the app waits and has no instance yet, or the daemon is
    /// about to start the app.
    public func isAwaited(_ app: AppIdentifier) -> Bool {
        guard let entry = directory[app] else { return false }
        return blocked[app] != nil || hasClaim(app)
            || entry.record.startAt != nil || !entry.prewarmWaiters.isEmpty
    }

    /// How long the app's latest successful prewarm took; nil if this supervisor has seen none.
    public func prewarmTime(of app: AppIdentifier) -> Duration? { directory[app]?.prewarmTime }

    /// The description of an installed app; nil if the app is not installed.
    public func description(of app: AppIdentifier) -> AppDescription? {
        directory[app]?.description?.value
    }

    /// The instances in front of a foreground group: at most one, unless shells name others.
    public func foreground(of group: String) -> Set<InstanceIdentifier> { fronts[group] ?? [] }
}
