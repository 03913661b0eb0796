// A lull after a launch. For a while, a launched app has the machine to itself, because making the
// next instance takes as much work as the launch has saved. The first line that applies decides
// whether an app's pool may be filled:
//   a client waits for the prewarm or hinted at it  → now
//   a launch has found the app's pool empty         → now, until the lull is over
//   the lull has lasted for `limit` delays          → now, until nothing is left to fill
//   launched apps have not settled                  → the app waits
// A launched app has settled `refillDelay` after its launch, or when it says that it is ready
// (`ReadyOn=`) or ends, if that is sooner. While apps settle on a machine with at most two
// processors, a prewarm that nobody waits for begins only when no other is under way.

/// From the first launch until the last launched app has settled.
public struct Lull: Hashable, Sendable {
    /// If launches never stop, they delay refills for this many delays.
    public static let limit = 10
    /// At most this many launched apps settle early by saying that they are ready, so that the cost
    /// of an event does not grow with the number of launches before it.
    static let settlingLimit = 16

    var began: Instant
    /// When the launched apps have settled that never say that they are ready.
    var end: Instant
    /// Instances that will say that they are ready, and the latest time at which each has settled.
    var settling: [InstanceIdentifier: Instant] = [:]
    /// Apps that were launched during the lull and had no paused instance left.
    var missed: Set<AppIdentifier> = []

    /// When all apps have settled, if none is launched or says that it is ready before.
    var isOverAt: Instant { settling.values.reduce(end, max) }
}

extension Lifecycle {
    /// An app was launched.
    mutating func beginLull(after id: InstanceIdentifier, tellsReadiness: Bool) {
        guard policy.refillDelay > .zero else { return }
        let end = now.advanced(by: policy.refillDelay)
        // A former lull may be over without having been ended, for example while memory was short.
        let former = self.lull.flatMap { $0.isOverAt > now ? $0 : nil }
        var lull = former ?? Lull(began: now, end: now)
        if tellsReadiness, lull.settling.count < Lull.settlingLimit {
            lull.settling[id] = end
        } else {
            lull.end = end
        }
        self.lull = lull
    }

    /// The instance is ready or has ended.
    mutating func launchHasSettled(_ id: InstanceIdentifier) {
        lull?.settling[id] = nil
    }

    /// A launch is cold. If the lull kept the app's pool empty, the app does not wait for the rest
    /// of the lull, because it is launched often.
    mutating func noteMiss(of app: AppIdentifier) {
        guard isInLull, lackingCount(app) > 0, self[app].filling.isEmpty else { return }
        lull?.missed.insert(app)
    }

    /// Ends the lull when its time has come. The apps that waited for its end are then checked.
    mutating func reviewLull() {
        guard let lull else { return }
        if lull.isOverAt <= now {
            self.lull = nil
            deadlines.remove(.lull)
        } else if !isInLull, !refills.hasAnyToFill {
            self.lull?.began = now
        }
        if isInLull { return armLull() }
        while let app = refills.popAwaitingLull() { wantRefill(of: app) }
    }

    /// Whether the lull delays prewarms that nobody waits for.
    private var isInLull: Bool {
        guard let lull, let limit = lullLimit else { return false }
        return now < min(limit, lull.isOverAt)
    }

    private var lullLimit: Instant? { lull?.began.advanced(by: policy.refillDelay * Lull.limit) }

    func mustAwaitLull(_ app: AppIdentifier) -> Bool {
        isInLull && !isUrgent(app) && lull?.missed.contains(app) == false
    }

    /// Whether a prewarm that nobody waits for must wait until no other is under way.
    var takesTurns: Bool {
        guard policy.processorCount <= 2, !filling.isEmpty else { return false }
        return underway.count > 0 || lull.map { $0.isOverAt > now } ?? false
    }

    mutating func awaitLull(_ app: AppIdentifier) {
        refills.awaitLull(app)
        armLull()
    }

    private mutating func armLull() {
        guard let lull, let limit = lullLimit, refills.hasAwaitingLull else { return }
        deadlines.set(.lull, at: min(limit, lull.isOverAt))
    }
}
