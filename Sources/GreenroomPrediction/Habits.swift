import Glibc

/// What is remembered about an app. The size is limited, whatever the app does.
struct Habits: Hashable, Sendable {
    var app: String
    /// The number of launches, with the weight of each halved every `Predictor.halfLife`, as of
    /// `lastLaunch`.
    var count: Float = 0
    /// The number of times that the app was launched first after a rest, halved in the same way.
    var beginnings: Float = 0
    var hours = [Float](repeating: 0, count: 24)
    var weekdays = [Float](repeating: 0, count: 7)
    /// The apps that were launched after this one, and those that were launched after this one and
    /// a given app before it.
    var followers: [Follower] = []
    var followersOfTwo: [FollowerOfTwo] = []
    /// The average of the probabilities before each of the last `Predictor.usualLaunches` launches.
    var usual: Float
    var lastLaunch: LocalTime
    /// The number of further launches that may be learned from, as of `lastLaunch`.
    var allowance: Float = Predictor.allowanceLimit

    init(app: String, usual: Float, at time: LocalTime) {
        self.app = app
        self.usual = usual
        lastLaunch = time
    }
}

/// An app that was launched after another one: its place in the table, and how often that happened.
struct Follower: Hashable, Sendable {
    var place: UInt16
    var weight: Float
}

struct FollowerOfTwo: Hashable, Sendable {
    /// The app that was launched before the one whose habits these are.
    var before: UInt16
    var place: UInt16
    var weight: Float
}

extension Habits {
    /// The factor by which a weight decays over that time.
    static func decay(over seconds: Double) -> Float {
        Float(exp2(-seconds / Predictor.halfLife))
    }

    /// Lets the counts, which are as of the last launch, decay until this time.
    mutating func age(to time: LocalTime) {
        let left = Self.decay(over: time.elapsed(since: lastLaunch))
        guard left < 1 else { return }
        count *= left
        beginnings *= left
        for hour in hours.indices { hours[hour] *= left }
        for day in weekdays.indices { weekdays[day] *= left }
    }

    /// Adds an app to a list that has a limit: the entry with the least weight makes room. With
    /// each addition, the other entries lose weight, so that a habit that has ended does not stay.
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
            // The other entries lose a little weight, so that those that were frequent once make
            // room in the end.
            for index in followersOfTwo.indices { followersOfTwo[index].weight *= 0.98 }
            let least = followersOfTwo.indices.min {
                followersOfTwo[$0].weight < followersOfTwo[$1].weight
            }!
            followersOfTwo.remove(at: least)
        }
        followersOfTwo.append(FollowerOfTwo(before: before, place: place, weight: 1))
    }

    /// From now on, the place in the table belongs to another app.
    mutating func forget(place: UInt16) {
        followers.removeAll { $0.place == place }
        followersOfTwo.removeAll { $0.place == place || $0.before == place }
    }
}
