// Launches that an app's manifest asks for when something is there or changes (`[Path]`): while nothing
// of it runs, or what runs is suspended. A condition that still holds when the app ends launches it
// again, up to its limit; then its triggers are left alone until manifests are read anew, its manifest
// changes, or somebody forgets its failures.

/// So many starts within the interval, and no more.
public struct TriggerLimit: Hashable, Sendable {
    public var burst: Int
    public var interval: Duration
    public init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Those that count.
    func recent(_ starts: [Instant], at now: Instant) -> [Instant] {
        starts.filter { $0.duration(to: now) < interval }
    }

    func admits(_ starts: [Instant], at now: Instant) -> Bool {
        recent(starts, at: now).count < burst
    }
}

/// What is known of one app's triggers.
struct Triggers: Hashable, Sendable {
    /// Its latest launches, at most as many as the limit allows.
    var launches: [Instant] = []
    var isLeftAlone = false
}

extension Lifecycle {
    /// They launched it too often.
    public func areTriggersLeftAlone(of app: AppIdentifier) -> Bool {
        triggers[app]?.isLeftAlone ?? false
    }

    mutating func triggered(
        _ request: RequestIdentifier, _ launch: LaunchRequest, _ limit: TriggerLimit
    ) {
        let app = launch.app
        guard let entry = directory[app], !areTriggersLeftAlone(of: app),
            !entry.members.contains(where: isAtWork)
        else { return refuse(request, .notTriggered(app)) }
        var own = triggers[app] ?? Triggers()
        own.launches = limit.recent(own.launches, at: now)
        guard own.launches.count < limit.burst else {
            own.isLeftAlone = true
            triggers[app] = own
            report(.triggersLeftAlone(app, launches: own.launches.count))
            return refuse(request, .notTriggered(app))
        }
        own.launches.append(now)
        triggers[app] = own
        launchRequested(request, launch)
    }

    /// It would notice by itself what triggers it.
    private func isAtWork(_ id: InstanceIdentifier) -> Bool {
        let record = self[id].record
        switch record.state {
        case .launching, .inactive, .active, .background: return true
        case .terminating: return record.launchedAt != nil
        case .suspended, .notRunning, .prewarming, .prewarmed: return false
        }
    }
}
