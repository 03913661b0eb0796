// How many instances a user may have. Users who do not know of each other share one table, and one
// person may have several user accounts:
//   the daemon's own user        → all that are free
//   a user who has none          → one, while more than the daemon's own part is free
//   a user who has some          → another, while more of the shared part is free than the user has
// So the first user gets at most half, the second at most half of the rest, and the last still
// finds some free. This applies to cold launches and to refills of pools. A launch from a pool
// counts when the pool is refilled.

extension Policy {
    /// The part of `instanceLimit` that users other than the daemon's own may have.
    public var sharedInstanceLimit: Int { instanceLimit - instanceLimit / 8 }
}

extension Lifecycle {
    /// Why no further instance may be launched for the user; nil if one may be launched.
    func shareRefusal(of user: UInt32) -> Refusal? {
        guard liveCount < policy.instanceLimit else {
            return .tooManyInstances(limit: policy.instanceLimit)
        }
        if user == policy.administrator { return nil }
        let free = policy.sharedInstanceLimit - liveCount
        guard free > 0 else { return .tooManyInstances(limit: policy.sharedInstanceLimit) }
        // No user has more than `liveCount` instances, so most launches need no counting.
        if liveCount < min(free, policy.instancesPerUser) { return nil }
        let own = liveCount(of: user)
        guard own == 0 || own < min(free, policy.instancesPerUser) else {
            return .tooManyInstancesOfUser(limit: own)
        }
        return nil
    }

    private func liveCount(of user: UInt32) -> Int {
        directory.values.reduce(0) { sum, app in
            guard app.description?.user == user else { return sum }
            return sum + app.members.count { self[$0].record.state != .notRunning }
        }
    }
}
