internal import GreenroomLifecycle

/// The lines of one interval. There is a limit for each app, and each user has a share of all
/// lines, however many apps that user has.
struct LineCounts {
    enum Occasion: CaseIterable {
        /// What an app says or gets wrong.
        case word
        /// A launch or an end, which costs its user something.
        case life

        /// At most this many lines about one app.
        var limit: Int {
            switch self {
            case .word: 50
            case .life: 500
            }
        }

        /// The limit for the lines of all apps; one user alone gets at most seven sixteenths.
        var shared: SharedLimit {
            switch self {
            case .word: SharedLimit(800)
            case .life: SharedLimit(4000)
            }
        }
    }

    private struct Key: Hashable {
        let user: UInt32
        let occasion: Occasion
    }

    /// The lines about one user's apps that were not logged.
    struct Suppressed {
        var lineCount = 0
        var apps: Set<AppIdentifier> = []
    }

    private var apps: [AppIdentifier: [Occasion: Int]] = [:]
    private var users: [Key: Int] = [:]
    private var logged: [Occasion: Int] = [:]
    private(set) var suppressed: [UInt32: Suppressed] = [:]

    var isEmpty: Bool { apps.isEmpty }

    /// Counts a line. False if the line exceeds a limit.
    mutating func allow(_ app: AppIdentifier, of user: UInt32, _ occasion: Occasion) -> Bool {
        let own = users[Key(user: user, occasion: occasion), default: 0]
        let ofApp = apps[app, default: [:]][occasion, default: 0]
        guard ofApp < occasion.limit,
            occasion.shared.excess(of: user, own: own, taken: logged[occasion, default: 0]) == nil
        else {
            suppressed[user, default: Suppressed()].lineCount += 1
            suppressed[user]!.apps.insert(app)
            return false
        }
        apps[app, default: [:]][occasion] = ofApp + 1
        users[Key(user: user, occasion: occasion)] = own + 1
        // Lines about the apps of root and of the daemon's own user take nothing from other users.
        if !SharedLimit.isTrusted(user) { logged[occasion, default: 0] += 1 }
        return true
    }
}
