// A lull after a launch. An app that was just launched has the machine for itself for a while:
// making the next instance takes as much work as the launch has saved. The first line that applies
// decides whether an app's pool may be filled:
//   a client waits for the prewarm, or hinted at it → now
//   a launch has found the app's pool empty         → now, until the lull is over
//   the lull has lasted for `limit` delays          → now, until nothing is left to fill
//   launched apps have not settled                  → the app waits
// A launched app has settled `refillDelay` after its launch, or once it says that it is ready
// (`ReadyOn=`), or has ended before. While apps settle on a machine with at most two processors, a
// prewarm that nobody waits for begins only when no other is under way.

/// From the first launch until the last launched app has settled.
public struct Lull: Hashable, Sendable {
    /// Launches that never stop delay refills for this many delays.
    public static let limit = 10
    /// At most this many launches end early when their app says that it is ready: an event must not
    /// take longer because of the launches before it.
    static let settlingLimit = 16

    var began: Instant
    /// When the apps have settled that say nothing.
    var end: Instant
    /// Instances that will say that they are ready, and when they have settled at the latest.
    var settling: [InstanceIdentifier: Instant] = [:]
    /// Apps that were launched in the meantime, and had no paused instance any more.
    var missed: Set<AppIdentifier> = []

    /// When all apps have settled, if none is launched and none says that it is ready.
    var isOverAt: Instant { settling.values.reduce(end, max) }
}

extension Lifecycle {
    /// An app was launched.
    mutating func beginLull(after id: InstanceIdentifier, tellsReadiness: Bool) {
        guard policy.refillDelay > .zero else { return }
        let end = now.advanced(by: policy.refillDelay)
        // While memory is short, say, nobody has noticed that a former lull is over.
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

    /// A launch is cold. If the lull is to blame, the app is not kept waiting again: it is launched
    /// often.
    mutating func noteMiss(of app: AppIdentifier) {
        guard isInLull, lackingCount(app) > 0, self[app].filling.isEmpty else { return }
        lull?.missed.insert(app)
    }

    /// Ends the lull when its time has come, and has the apps checked that waited for that.
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

    /// Whether an app must wait that nobody waits for.
    private var isInLull: Bool {
        guard let lull, let limit = lullLimit else { return false }
        return now < min(limit, lull.isOverAt)
    }

    private var lullLimit: Instant? { lull?.began.advanced(by: policy.refillDelay * Lull.limit) }

    func mustAwaitLull(_ app: AppIdentifier) -> Bool {
        isInLull && !isUrgent(app) && lull?.missed.contains(app) == false
    }

    /// Whether prewarms that nobody waits for begin one after the other.
    var takesTurns: Bool {
        guard policy.processorCount <= 2, !filling.isEmpty else { return false }
        return underwayCount > 0 || lull.map { $0.isOverAt > now } ?? false
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
