// How many instances a user may have. Users who do not know of each other share one table, and one
// person may have several user accounts:
//   the daemon's own user        → all that are free
//   a user who has none          → one, while more than the daemon's own part is free
//   a user who has some          → another, while more of the shared part is free than the user has
// So the first user gets at most half, the second at most half of the rest, and the last still
// finds some free. This applies to cold launches and to refills of pools. A launch from a pool
// counts when the pool is refilled.
//
// A cold launch that finds no place takes that of the user's own paused instances, the least
// valuable first, if that is enough. It waits until their processes have ended (`BlockedLaunches`),
// so no limit is exceeded, and no user loses a paused instance to another user.

extension Policy {
    /// The part of `instanceLimit` that users other than the daemon's own may have.
    public var sharedInstanceLimit: Int { instanceLimit - instanceLimit / 8 }
}

extension Lifecycle {
    /// Why no further instance may be launched for the user; nil if one may be launched.
    ///
    /// - Parameter endedCount: how many of the user's instances are taken to have ended.
    func shareRefusal(of user: UInt32, without endedCount: Int = 0) -> Refusal? {
        let liveCount = liveCount - endedCount
        guard liveCount < policy.instanceLimit else {
            return .tooManyInstances(limit: policy.instanceLimit)
        }
        if user == policy.administrator { return nil }
        let free = policy.sharedInstanceLimit - liveCount
        guard free > 0 else { return .tooManyInstances(limit: policy.sharedInstanceLimit) }
        // No user has more than `liveCount` instances, so most launches need no counting.
        if liveCount < min(free, policy.instancesPerUser) { return nil }
        let own = self.liveCount(of: user) - endedCount
        guard own == 0 || own < min(free, policy.instancesPerUser) else {
            return .tooManyInstancesOfUser(limit: own)
        }
        return nil
    }

    /// Ends as few paused instances of the user as make a place for the launch, which waits for
    /// their end.
    ///
    /// - Returns: false if all of them would not be enough.
    mutating func makePlace(for pending: PendingLaunch, of user: UInt32) -> Bool {
        guard !pending.hasMadePlace else { return false }
        var chosen: [InstanceIdentifier] = []
        for id in prewarmsByValue(including: [.prewarmed, .prewarming])
        where self.user(of: self[id].record.app) == user && self[id].claim == nil {
            chosen.append(id)
            guard shareRefusal(of: user, without: chosen.count) == nil else { continue }
            var pending = pending
            pending.hasMadePlace = true
            // The start was forgotten when it was served, and a restart of the supervisor forgets
            // what is blocked.
            if pending.isTriedAgain { updateApp(pending.launch.app) { [now] in $0.startAt = now } }
            awaitEnd(of: chosen, pending)
            for id in chosen { end(id, .poolTrimmed, gently: false) }
            return true
        }
        return false
    }

    private func liveCount(of user: UInt32) -> Int {
        directory.values.reduce(0) { sum, app in
            guard app.description?.user == user else { return sum }
            return sum + app.members.count { self[$0].record.state != .notRunning }
        }
    }
}
