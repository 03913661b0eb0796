// Launches that an app's manifest asks for when a path exists or changes (`[Path]`), while no
// instance of the app runs, or only suspended ones do. If the condition still holds when the app
// ends, the app is launched again, until it reaches its limit. After that its triggers are ignored
// until manifests are read again, its manifest changes, or its failures are reset.

/// At most `burst` starts within `interval`.
public struct TriggerLimit: Hashable, Sendable {
    public var burst: Int
    public var interval: Duration
    public init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// The starts that lie within the interval before `now`.
    func recent(_ starts: [Instant], at now: Instant) -> [Instant] {
        starts.filter { $0.duration(to: now) < interval }
    }

    func admits(_ starts: [Instant], at now: Instant) -> Bool {
        recent(starts, at: now).count < burst
    }
}

/// What is known about one app's triggers.
struct Triggers: Hashable, Sendable {
    /// The times of the latest launches, at most as many as the limit allows.
    var launchTimes: [Instant] = []
    var isLeftAlone = false
}

extension Lifecycle {
    /// Whether the app's triggers are ignored because they launched it too often.
    public func areTriggersLeftAlone(of app: AppIdentifier) -> Bool {
        triggers[app]?.isLeftAlone ?? false
    }

    mutating func triggered(
        _ request: RequestIdentifier, _ launch: LaunchRequest, _ limit: TriggerLimit
    ) {
        let app = launch.app
        if isForceQuit(app) { return refuse(request, .forceQuit(app)) }
        guard let entry = directory[app], !areTriggersLeftAlone(of: app), !hasClaim(app),
            !entry.members.contains(where: isAtWork)
        else { return refuse(request, .notTriggered(app)) }
        var own = triggers[app] ?? Triggers()
        own.launchTimes = limit.recent(own.launchTimes, at: now)
        guard own.launchTimes.count < limit.burst else {
            own.isLeftAlone = true
            triggers[app] = own
            report(.triggersLeftAlone(app, launchCount: own.launchTimes.count))
            return refuse(request, .notTriggered(app))
        }
        own.launchTimes.append(now)
        triggers[app] = own
        launchRequested(request, launch)
    }

    /// Whether the instance is running, so that it notices by itself what triggers its app.
    private func isAtWork(_ id: InstanceIdentifier) -> Bool {
        let record = self[id].record
        switch record.state {
        case .launching, .inactive, .active, .background: return true
        case .terminating: return record.launchedAt != nil
        case .suspended, .notRunning, .prewarming, .prewarmed: return false
        }
    }
}
