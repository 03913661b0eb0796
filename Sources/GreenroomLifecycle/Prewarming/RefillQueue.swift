/// Apps whose pool may lack instances, by what they wait for. With each event only those are looked at that
/// something may have changed for: there may be thousands of the others.
struct RefillQueue: Hashable, Sendable {
    /// To be looked at.
    private var due = AppQueue()
    /// Until the machine is found in another condition.
    private var waitingForMachine = AppQueue()
    /// Until there is more room than `barrenRoom`.
    private var crowded = AppQueue()
    /// Until an instance ends, by user: they have their share.
    private var unshared: [UInt32: AppQueue] = [:]
    /// An instance has ended since they were looked at.
    private(set) var mayShareAgain = false
    /// None of the crowded fits into so many bytes.
    private(set) var barrenRoom = UInt64.max

    var isEmpty: Bool { due.count == 0 }
    var dueCount: Int { due.count }
    var crowdedCount: Int { crowded.count }

    mutating func append(_ app: AppIdentifier) { due.append(app) }

    /// Before the others.
    mutating func prepend(_ app: AppIdentifier) { due.prepend(app) }

    mutating func popDue() -> AppIdentifier? { due.popFirst() }

    // MARK: Waiting for the machine

    mutating func awaitMachine(_ app: AppIdentifier) { waitingForMachine.append(app) }

    mutating func machineChanged() {
        while let app = waitingForMachine.popFirst() { due.append(app) }
    }

    // MARK: Waiting for bytes

    /// It does not fit into `room`.
    mutating func crowdOut(_ app: AppIdentifier, from room: UInt64) {
        crowded.append(app)
        barrenRoom = min(barrenRoom, room)
    }

    mutating func popCrowded() -> AppIdentifier? { crowded.popFirst() }

    /// All of them have been looked at.
    mutating func noneFits(into room: UInt64) {
        barrenRoom = crowded.count == 0 ? .max : room
    }

    // MARK: Waiting for a share

    /// Its user has as many instances as there may be.
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

    /// All of them have been looked at.
    mutating func sharesAreTaken() { mayShareAgain = false }
}

/// Apps, each once, first come first.
private struct AppQueue: Hashable, Sendable {
    private var order: [AppIdentifier] = []
    private var known: Set<AppIdentifier> = []
    /// Those before it have been taken; they are cleared away once they are half of all, so that
    /// taking one costs the same however many wait.
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
