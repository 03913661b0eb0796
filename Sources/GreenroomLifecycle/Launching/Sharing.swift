// How many instances a user may have. Users who cannot know of each other share one table, and one
// person may have several user accounts:
//   the daemon's own user        → all that are free
//   a user who has none          → one, while more than the daemon's own part is free
//   a user who has some          → another, while more of the others' part is free than they have
// So the first user gets half, the second one half of the rest, and whoever comes last still finds
// some free. This applies to cold launches and to refills of pools. A launch from a pool counts
// when the pool is refilled.

extension Policy {
    /// The part of `instanceLimit` that users other than the daemon's own may have.
    public var sharedInstanceLimit: Int { instanceLimit - instanceLimit / 8 }
}

extension Lifecycle {
    /// Why no further instance may be launched for the user; nil if one may be.
    func shareRefusal(of user: UInt32) -> Refusal? {
        guard liveCount < policy.instanceLimit else {
            return .tooManyInstances(limit: policy.instanceLimit)
        }
        if user == policy.administrator { return nil }
        let free = policy.sharedInstanceLimit - liveCount
        guard free > 0 else { return .tooManyInstances(limit: policy.sharedInstanceLimit) }
        // No user has more instances than there are in all, so most launches need no counting.
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
