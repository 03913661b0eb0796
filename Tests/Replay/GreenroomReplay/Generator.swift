import Glibc
import GreenroomPrediction

// Histories that are made from published figures as far as there are any. The choices were made
// before anything was measured.
//
// From publications. Of most, only the abstract or an excerpt could be read again when this list was
// checked (2026); "excerpt" says that the figure itself was seen there.
//
//   sessions of a phone, 20 to 80 a day: Falaki et al., Diversity in Smartphone Usage, MobiSys 2010
//     (abstract): 10 to 200 interactions a day, by user; the middle of this range is a choice
//   50 apps: Cao and Lin, Mining Smartphone Data for App Usage Prediction and Recommendations,
//     Pervasive and Mobile Computing 2017 (excerpt): 10 to more than 90 used apps, median about 50
//   the exponent 1.2 of popularity, and 0.41 of the number of apps ever used over time: De Nadai et
//     al., Strategies and limitations in app usage and human mobility, Scientific Reports 2019 (the
//     authors' slides: 1.19 with an offset, 1.27 without; 0.41). Falaki et al. model one user's
//     popularity by an exponential distribution instead.
//   keepers and explorers: the same (abstract). The figures of `explorer` are choices.
//   65 % of new apps are left within a week: Sigg et al., Exploiting Usage to Predict Instantaneous
//     App Popularity, ACM TWEB 2019 (abstract): apps lose 65 % of their users in the first week
//   short sessions, hours and openers: Böhmer et al., Falling Asleep with Angry Birds, Facebook and
//     Kindle, MobileHCI 2011 (abstract): less than a minute with an app; news in the morning, games
//     at night; an app for communication is almost always the first of a session. How often (0.6),
//     and how many apps have an hour (0.6), are choices.
//   what follows two commands of a shell: Davison and Hirsh, Experiments in UNIX Command Prediction,
//     AAAI 1997 (abstract): the two commands before predict up to 45 % of the next ones; 2184
//     commands a user
//   popularity on a desktop: Humm, Improving Task Switching Interfaces, Canterbury 2007 (abstract):
//     switches between applications follow Zipf's law; its exponent was not seen
//   apps are returned to: Jones et al., Revisitation Analysis of Smartphone App Use, UbiComp 2015
//     (abstract, without a figure)
//
// From memory of publications, not found again:
//
//   68 %, 19 % and 7 % of sessions with one, two and three apps: ascribed to Böhmer et al. A summary
//     of theirs says only that sessions with one app are much more frequent than longer ones, and
//     one of Falaki et al. that close to 90 % of interactions include one application.
//   some apps trigger others: ascribed to Yan et al., Fast App Launching for Mobile Devices Using
//     Predictive User Context, MobiSys 2012, whose abstract has only places and times
//   20 apps on a desktop: ascribed to Esfahbod, Preload, Toronto 2006
//
// Everything else is an assumption: 3, 2 and 1 % of sessions with more apps; all of a desktop's and a
// shell's sessions; how often an app follows another one, is returned to, or suits the hour, and how
// narrowly; seconds between launches; how many apps are for work; how popular a new app is.
//
// Time saved and bytes are those of this project's README: from 3 to 256 ms (median about 40), and
// 0.1 to 15 MB; what saves more also takes more, loosely.

public struct Generator: Sendable {
    public let name: String
    let persons: [Person.Manner]
    /// Whether all apps cost and save the same.
    let isUniform: Bool

    public static let all: [Generator] = [
        Generator(name: "phone", persons: [.phone]),
        Generator(name: "desktop", persons: [.desktop]),
        Generator(name: "shell", persons: [.shell]),
        Generator(name: "explorer", persons: [.explorer]),
        Generator(name: "revisits", persons: [.revisits]),
        Generator(name: "independent", persons: [.independent]),
        Generator(name: "shared", persons: [.desktop, .shell, .phone]),
    ]

    init(name: String, persons: [Person.Manner], isUniform: Bool = false) {
        self.name = name
        self.persons = persons
        self.isUniform = isUniform
    }

    public static func named(_ name: String) -> Generator? { all.first { $0.name == name } }

    /// The same histories, except that all apps save 40 ms and take 4 MiB: only the prediction
    /// counts.
    public var uniform: Generator {
        Generator(name: name + ", uniform", persons: persons, isUniform: true)
    }

    /// Monday, 2026-01-05 00:00.
    static let start: Int64 = 1_767_571_200

    public func launches(seed: UInt64, days: Int) -> [Launch] {
        var launches: [Launch] = []
        for (number, manner) in persons.enumerated() {
            var person = Person(
                manner, user: UInt32(1000 + number), isUniform: isUniform,
                seed: seed &* 31 &+ UInt64(number))
            launches += person.launches(days: days)
        }
        return launches.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }.map(\.element)
    }
}

/// A user who launches apps.
struct Person {
    /// The head of this file says which values are from a publication, and which are assumed.
    struct Manner: Sendable {
        var apps = 50
        var exponent = 1.2
        /// The least and the greatest number of sessions a day.
        var sessionsPerDay = (20.0, 80.0)
        /// Weights of sessions with one, two, ... launches; or their mean, if there are none.
        var chain: [Double] = []
        var meanChain = 1.0
        var secondsBetween = 45.0
        /// How often the next app is one that usually follows the last app, one that usually
        /// follows the last two, one used lately, or one that suits the hour. Otherwise popularity
        /// alone decides.
        var follows = 0.0
        var followsTwo = 0.0
        var revisits = 0.0
        var suitsHour = 0.0
        /// How often a session begins with one of a few apps.
        var opener = 0.0
        /// The number of apps ever used grows with this power of the days.
        var growth = 0.0
        var isWeekdays = false

        static let phone = Manner(
            chain: [68, 19, 7, 3, 2, 1], follows: 0.35, revisits: 0.2, suitsHour: 0.3,
            opener: 0.6, growth: 0.41)
        static let desktop = Manner(
            apps: 20, sessionsPerDay: (3, 6), meanChain: 6, secondsBetween: 180, follows: 0.4,
            revisits: 0.15, suitsHour: 0.25, opener: 0.6, growth: 0.2, isWeekdays: true)
        static let shell = Manner(
            apps: 60, sessionsPerDay: (3, 6), meanChain: 10, secondsBetween: 20, follows: 0.2,
            followsTwo: 0.3, revisits: 0.2, suitsHour: 0.05, opener: 0.3, isWeekdays: true)
        static let explorer = Manner(
            apps: 12, sessionsPerDay: (20, 60), chain: [68, 19, 7, 3, 2, 1], follows: 0.2,
            revisits: 0.3, suitsHour: 0.2, opener: 0.4, growth: 0.8)
        static let revisits = Manner(
            sessionsPerDay: (20, 60), chain: [68, 19, 7, 3, 2, 1], revisits: 0.85)
        static let independent = Manner(
            sessionsPerDay: (20, 60), chain: [68, 19, 7, 3, 2, 1])
    }

    struct App {
        var name: String
        var weight: Double
        /// The hour around which the app is used, if there is one.
        var peak: Double?
        /// Whether the app is mainly used on working days, or on the other days; nil for all days.
        var isForWork: Bool?
        var followers: [Int]
        var saved: Double
        var bytes: UInt64
        /// The day of the installation. The app is tried often in its first week.
        var installed = -100.0
        var left = Double.infinity
    }

    let manner: Manner
    let user: UInt32
    let isUniform: Bool
    var dice: Dice
    var apps: [App] = []
    /// The apps that follow a pair of apps, drawn when they are first needed.
    var pairs: [Int: [Int]] = [:]
    var openers: [Int] = []
    /// The apps used so far, the latest first.
    var stack: [Int] = []

    init(_ manner: Manner, user: UInt32, isUniform: Bool, seed: UInt64) {
        self.manner = manner
        self.user = user
        self.isUniform = isUniform
        dice = Dice(seed: seed)
        for rank in 0..<manner.apps { apps.append(app(rank: rank)) }
        for index in apps.indices { apps[index].followers = someApps(3) }
        openers = someApps(3)
    }

    private mutating func app(rank: Int) -> App {
        let size = dice.normal()
        let saved = 40 * exp(1.2 * (0.5 * size + 0.866 * dice.normal()))
        let bytes = 3 * exp(size) * 1_048_576
        return App(
            name: "app\(apps.count)", weight: pow(Double(rank + 1), -manner.exponent),
            peak: dice.chance(0.6) ? 7 + dice.unit() * 16 : nil,
            isForWork: dice.chance(0.3) ? dice.chance(0.65) : nil, followers: [],
            saved: isUniform ? 40 : min(max(saved, 3), 300),
            bytes: isUniform ? 4 << 20 : UInt64(min(max(bytes, 1e5), 32e6)))
    }

    /// Apps, drawn by their popularity. One of them can be there twice.
    private mutating func someApps(_ count: Int) -> [Int] {
        let weights = apps.map { pow($0.weight, 0.5) }
        return (0..<count).compactMap { _ in dice.index(weights) }
    }

    // MARK: Time

    mutating func launches(days: Int) -> [Launch] {
        var launches: [Launch] = []
        let rate = dice.logUniform(manner.sessionsPerDay.0, manner.sessionsPerDay.1)
        for day in 0..<days {
            growApps(on: day)
            let isWorkday = day % 7 < 5
            let count = manner.isWeekdays && !isWorkday ? rate / 4 : rate
            var starts: [Double] = []
            for _ in 0..<Int(count + dice.unit()) { starts.append(startSecond(isWorkday)) }
            var busyUntil = 0.0
            for start in starts.sorted() where start > busyUntil {
                var second = start
                for number in 0..<chainLength() {
                    if number > 0 { second += 2 + dice.exponential(mean: manner.secondsBetween) }
                    guard second < 86400 else { break }
                    let next = nextApp(
                        day: Double(day) + second / 86400, hour: second / 3600, isWorkday,
                        isFirst: number == 0)
                    note(next)
                    launches.append(
                        Launch(
                            time: LocalTime(
                                seconds: Generator.start + Int64(day) * 86400 + Int64(second)),
                            user: user, app: apps[next].name, savedMilliseconds: apps[next].saved,
                            byteCount: apps[next].bytes))
                }
                busyUntil = second + 60
            }
        }
        return launches
    }

    /// The beginning of a session: from seven to midnight, or at the desk from nine to seven.
    private mutating func startSecond(_ isWorkday: Bool) -> Double {
        let hours = manner.isWeekdays && isWorkday ? (9.0, 19.0) : (7.0, 24.0)
        return (hours.0 + dice.unit() * (hours.1 - hours.0)) * 3600
    }

    private mutating func chainLength() -> Int {
        guard manner.chain.isEmpty else { return 1 + (dice.index(manner.chain) ?? 0) }
        return 1 + Int(dice.exponential(mean: manner.meanChain))
    }

    // MARK: Choice

    private mutating func nextApp(
        day: Double, hour: Double, _ isWorkday: Bool, isFirst: Bool
    ) -> Int {
        let usable = apps.map { $0.weight(day: day, isWorkday) }
        if isFirst, dice.chance(manner.opener), let next = pick(openers, usable) { return next }
        var chance = dice.unit()
        chance -= manner.follows
        if chance < 0, !isFirst, let last = stack.first,
            let next = pick(apps[last].followers, usable)
        {
            return next
        }
        guard chance >= 0 else { return popular(usable) }
        chance -= manner.followsTwo
        if chance < 0, !isFirst, stack.count > 1, let next = pick(followersOfTwo(), usable) {
            return next
        }
        guard chance >= 0 else { return popular(usable) }
        chance -= manner.revisits
        if chance < 0 {
            // Draws a place in the order of recency, by the same law as popularity, except the last
            // app.
            let weights = stack.indices.map { place in
                place == 0 || usable[stack[place]] == 0 ? 0 : pow(Double(place), -1.2)
            }
            if let place = dice.index(weights) { return stack[place] }
        }
        guard chance >= 0 else { return popular(usable) }
        if chance < manner.suitsHour {
            let fitting = apps.indices.map { usable[$0] * apps[$0].fitness(at: hour) }
            return dice.index(fitting) ?? popular(usable)
        }
        return popular(usable)
    }

    private mutating func popular(_ weights: [Double]) -> Int { dice.index(weights) ?? 0 }

    /// Draws one of the apps, most often the first.
    private mutating func pick(_ some: [Int], _ usable: [Double]) -> Int? {
        let weights = some.enumerated().map { usable[$1] > 0 ? pow(0.5, Double($0)) : 0 }
        return dice.index(weights).map { some[$0] }
    }

    private mutating func followersOfTwo() -> [Int] {
        let pair = stack[0] * 4096 + stack[1]
        if let known = pairs[pair] { return known }
        let new = someApps(2)
        pairs[pair] = new
        return new
    }

    private mutating func note(_ app: Int) {
        stack.removeAll { $0 == app }
        stack.insert(app, at: 0)
    }

    // MARK: New apps

    private mutating func growApps(on day: Int) {
        guard manner.growth > 0 else { return }
        let wanted = Double(manner.apps) * pow(Double(day + 10) / 10, manner.growth)
        while Double(apps.count) < wanted.rounded(.down) {
            var new = app(rank: dice.below(manner.apps))
            new.installed = Double(day) + dice.unit()
            new.followers = someApps(3)
            if dice.chance(0.65) { new.left = new.installed + dice.unit() * 7 }
            apps.append(new)
        }
    }
}

extension Person.App {
    func weight(day: Double, _ isWorkday: Bool) -> Double {
        guard day >= installed, day < left else { return 0 }
        // A new app is as popular as the third of fifty.
        let base = day < installed + 7 ? max(weight, 0.27) : weight
        guard let isForWork else { return base }
        return isForWork == isWorkday ? base : base * 0.1
    }

    /// How well the app suits an hour: within some three hours of its peak.
    func fitness(at hour: Double) -> Double {
        guard let peak else { return 0.2 }
        let distance = min(abs(hour - peak), 24 - abs(hour - peak))
        return exp(-(distance * distance) / 8)
    }
}
