// How many instances a user may have. The table is shared by users who cannot know of each other, and one
// person may be several of them:
//   the daemon's own user        → all that are free
//   a user who has none          → one, while more than the daemon's own part is free
//   a user who has some          → another, while more are free in the others' part than the user has
// So the first user gets half, the second half of the rest, and whoever comes last finds some free. Cold
// launches and refills of pools are held to it: a launch from a pool is paid for when that is refilled.

extension Policy {
    /// Of `instanceLimit`, what users other than the daemon's own may have.
    public var sharedInstanceLimit: Int { instanceLimit - instanceLimit / 8 }
}

extension Lifecycle {
    /// Why a user may have no further instance launched.
    func shareRefusal(of user: UInt32) -> Refusal? {
        guard liveCount < policy.instanceLimit else {
            return .tooManyInstances(limit: policy.instanceLimit)
        }
        if user == policy.administrator { return nil }
        let free = policy.sharedInstanceLimit - liveCount
        guard free > 0 else { return .tooManyInstances(limit: policy.sharedInstanceLimit) }
        // Nobody can have more than there are: most launches count nothing.
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
