import Glibc

/// What is remembered of an app. Its size has a limit, whatever the app does.
struct Habits: Hashable, Sendable {
    var app: String
    /// Launches, each halved every `Predictor.halfLife`, as of `lastLaunch`.
    var count: Float = 0
    /// First launches after a rest, halved in the same way.
    var beginnings: Float = 0
    var hours = [Float](repeating: 0, count: 24)
    var weekdays = [Float](repeating: 0, count: 7)
    /// What was launched after it, and what was launched after it and the app before it.
    var followers: [Follower] = []
    var followersOfTwo: [FollowerOfTwo] = []
    /// The probability before each launch, on average over the last `Predictor.usualLaunches`.
    var usual: Float
    var lastLaunch: LocalTime
    /// How many launches may still teach something now.
    var allowance: Float = Predictor.allowanceLimit

    init(app: String, usual: Float, at time: LocalTime) {
        self.app = app
        self.usual = usual
        lastLaunch = time
    }
}

/// An app that was launched after another one: its place in the table, and how often.
struct Follower: Hashable, Sendable {
    var place: UInt16
    var weight: Float
}

struct FollowerOfTwo: Hashable, Sendable {
    /// The app before.
    var before: UInt16
    var place: UInt16
    var weight: Float
}

extension Habits {
    /// What is left of a weight after that time.
    static func decay(over seconds: Double) -> Float {
        Float(exp2(-seconds / Predictor.halfLife))
    }

    /// Counts at the time of the last launch are worth less now.
    mutating func age(to time: LocalTime) {
        let left = Self.decay(over: time.elapsed(since: lastLaunch))
        guard left < 1 else { return }
        count *= left
        beginnings *= left
        for hour in hours.indices { hours[hour] *= left }
        for day in weekdays.indices { weekdays[day] *= left }
    }

    /// Adds to a list that has a limit: the least entry makes room. Older entries lose weight with
    /// each new one, so that a habit that ended does not stay.
    mutating func follow(_ place: UInt16) {
        for index in followers.indices { followers[index].weight *= Predictor.followLeft }
        if let index = followers.firstIndex(where: { $0.place == place }) {
            followers[index].weight += 1
        } else {
            if followers.count >= Predictor.followerLimit {
                let least = followers.indices.min { followers[$0].weight < followers[$1].weight }!
                followers.remove(at: least)
            }
            followers.append(Follower(place: place, weight: 1))
        }
    }

    mutating func follow(_ place: UInt16, before: UInt16) {
        var found: Int?
        for index in followersOfTwo.indices where followersOfTwo[index].before == before {
            followersOfTwo[index].weight *= Predictor.followLeft
            if followersOfTwo[index].place == place { found = index }
        }
        if let found { return followersOfTwo[found].weight += 1 }
        if followersOfTwo.count >= Predictor.followerOfTwoLimit {
            // Others lose a little, so that what was once frequent makes room in the end.
            for index in followersOfTwo.indices { followersOfTwo[index].weight *= 0.98 }
            let least = followersOfTwo.indices.min {
                followersOfTwo[$0].weight < followersOfTwo[$1].weight
            }!
            followersOfTwo.remove(at: least)
        }
        followersOfTwo.append(FollowerOfTwo(before: before, place: place, weight: 1))
    }

    /// The place is somebody else's from now on.
    mutating func forget(place: UInt16) {
        followers.removeAll { $0.place == place }
        followersOfTwo.removeAll { $0.place == place || $0.before == place }
    }
}
