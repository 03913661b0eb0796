/// Apps whose pool may lack instances, by what they wait for. Each event checks only those for
/// which something may have changed, because there may be thousands of others.
struct RefillQueue: Hashable, Sendable {
    /// Apps to be checked, by user. The users take turns, so one user's apps cannot delay
    /// another's.
    private var due: [UInt32: AppQueue] = [:]
    /// The users of apps to be checked, the next user first.
    private var turns: [UInt32] = []
    /// Apps that wait until the machine's condition changes.
    private var waitingForMachine = AppQueue()
    /// Apps that wait until the lull after launches is over.
    private var awaitingLull = AppQueue()
    /// Apps that wait until no other prewarm is under way.
    private var takingTurns = AppQueue()
    /// Apps that wait until there is more room than `barrenRoom`.
    private var crowded = AppQueue()
    /// Apps of users who have used up their share, by user. They wait until an instance ends.
    private var unshared: [UInt32: AppQueue] = [:]
    /// An instance has ended since the apps without a share were last checked.
    private(set) var mayShareAgain = false
    /// No crowded app fits into this many bytes.
    private(set) var barrenRoom = UInt64.max

    var isEmpty: Bool { turns.isEmpty }
    var dueCount: Int { due.values.reduce(0) { $0 + $1.count } }
    var crowdedCount: Int { crowded.count }

    mutating func append(_ app: AppIdentifier, of user: UInt32) {
        if due[user] == nil { turns.append(user) }
        due[user, default: AppQueue()].append(app)
    }

    /// Adds the app before the others.
    mutating func prepend(_ app: AppIdentifier, of user: UInt32) {
        turns.removeAll { $0 == user }
        turns.insert(user, at: 0)
        due[user, default: AppQueue()].prepend(app)
    }

    /// - Parameter isWanted: whether an app of this user may be returned.
    mutating func popDue(where isWanted: (UInt32) -> Bool = { _ in true }) -> AppIdentifier? {
        guard let index = turns.firstIndex(where: isWanted) else { return nil }
        let user = turns.remove(at: index)
        let app = due[user]?.popFirst()
        if due[user]?.count == 0 { due[user] = nil } else { turns.append(user) }
        return app
    }

    // MARK: Waiting for the machine

    mutating func awaitMachine(_ app: AppIdentifier) { waitingForMachine.append(app) }

    mutating func popWaitingForMachine() -> AppIdentifier? { waitingForMachine.popFirst() }

    // MARK: Waiting for launched apps

    var hasAwaitingLull: Bool { awaitingLull.count > 0 }
    var hasAnyToFill: Bool { !isEmpty || hasAwaitingLull || takingTurns.count > 0 }

    mutating func awaitLull(_ app: AppIdentifier) { awaitingLull.append(app) }

    mutating func popAwaitingLull() -> AppIdentifier? { awaitingLull.popFirst() }

    mutating func awaitTurn(_ app: AppIdentifier) { takingTurns.append(app) }

    mutating func popTurn() -> AppIdentifier? { takingTurns.popFirst() }

    // MARK: Waiting for bytes

    /// The app does not fit into `room`.
    mutating func crowdOut(_ app: AppIdentifier, from room: UInt64) {
        crowded.append(app)
        barrenRoom = min(barrenRoom, room)
    }

    mutating func popCrowded() -> AppIdentifier? { crowded.popFirst() }

    /// All crowded apps have been checked.
    mutating func noneFits(into room: UInt64) {
        barrenRoom = crowded.count == 0 ? .max : room
    }

    // MARK: Waiting for a share

    /// The app's user has as many instances as the share allows.
    mutating func refuseShare(_ app: AppIdentifier, of user: UInt32) {
        unshared[user, default: AppQueue()].append(app)
    }

    /// Instances have ended, so shares may have grown.
    mutating func sharesGrew() { mayShareAgain = !unshared.isEmpty }

    var usersWithoutShare: [UInt32] { unshared.keys.sorted() }

    mutating func popUnshared(of user: UInt32) -> AppIdentifier? {
        let app = unshared[user]?.popFirst()
        if unshared[user]?.count == 0 { unshared[user] = nil }
        return app
    }

    /// All apps without a share have been checked.
    mutating func sharesAreUsedUp() { mayShareAgain = false }
}

/// A queue that holds each app at most once.
private struct AppQueue: Hashable, Sendable {
    private var order: [AppIdentifier] = []
    private var known: Set<AppIdentifier> = []
    /// Apps before this index have been taken. They are removed once they are half of the array, so
    /// that taking an app costs the same however many apps wait.
    private var first = 0

    var count: Int { order.count - first }

    mutating func append(_ app: AppIdentifier) {
        if known.insert(app).inserted { order.append(app) }
    }

    mutating func prepend(_ app: AppIdentifier) {
        if !known.insert(app).inserted {
            order.removeSubrange(..<first)
            first = 0
            order.removeAll { $0 == app }
        }
        order.insert(app, at: first)
    }

    mutating func popFirst() -> AppIdentifier? {
        guard first < order.count else { return nil }
        let app = order[first]
        first += 1
        if first * 2 >= order.count {
            order.removeFirst(first)
            first = 0
        }
        known.remove(app)
        return app
    }
}
