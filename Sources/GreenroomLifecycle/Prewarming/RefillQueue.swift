/// Apps whose pool may lack instances, by what they wait for. Each event checks only those for
/// which something may have changed, because there may be thousands of others.
struct RefillQueue: Hashable, Sendable {
    /// Apps to be checked.
    private var due = AppQueue()
    /// Apps that wait until the machine's condition changes.
    private var waitingForMachine = AppQueue()
    /// Apps that wait until there is more room than `barrenRoom`.
    private var crowded = AppQueue()
    /// Apps of users who have their whole share, by user. They wait until an instance ends.
    private var unshared: [UInt32: AppQueue] = [:]
    /// An instance has ended since the apps without a share were last checked.
    private(set) var mayShareAgain = false
    /// No crowded app fits into this many bytes.
    private(set) var barrenRoom = UInt64.max

    var isEmpty: Bool { due.count == 0 }
    var dueCount: Int { due.count }
    var crowdedCount: Int { crowded.count }

    mutating func append(_ app: AppIdentifier) { due.append(app) }

    /// Adds the app before the others.
    mutating func prepend(_ app: AppIdentifier) { due.prepend(app) }

    mutating func popDue() -> AppIdentifier? { due.popFirst() }

    // MARK: Waiting for the machine

    mutating func awaitMachine(_ app: AppIdentifier) { waitingForMachine.append(app) }

    mutating func machineChanged() {
        while let app = waitingForMachine.popFirst() { due.append(app) }
    }

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

    /// The app's user has as many instances as allowed.
    mutating func refuseShare(_ app: AppIdentifier, of user: UInt32) {
        unshared[user, default: AppQueue()].append(app)
    }

    /// There are fewer instances than before.
    mutating func sharesGrew() { mayShareAgain = !unshared.isEmpty }

    var usersWithoutShare: [UInt32] { unshared.keys.sorted() }

    mutating func popUnshared(of user: UInt32) -> AppIdentifier? {
        let app = unshared[user]?.popFirst()
        if unshared[user]?.count == 0 { unshared[user] = nil }
        return app
    }

    /// All apps without a share have been checked.
    mutating func sharesAreTaken() { mayShareAgain = false }
}

/// A queue that holds each app at most once.
private struct AppQueue: Hashable, Sendable {
    private var order: [AppIdentifier] = []
    private var known: Set<AppIdentifier> = []
    /// Apps before this index have been taken. They are removed once they are half of all, so that
    /// taking an app costs the same however many wait.
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
