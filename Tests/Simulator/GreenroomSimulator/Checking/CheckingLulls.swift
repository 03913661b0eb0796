import GreenroomLifecycle

/// What the checker knows of the lull after launches, and of the instances that are held back.
struct LullBooks: Sendable {
    /// The priorities that the kernel knows. They outlive a supervisor.
    var priorities: [InstanceIdentifier: Priority] = [:]
    /// The times of the last launch, of the last launch of an app that never says that it is ready,
    /// and of the first launch of this lull.
    private var last: Instant?
    private var lastSilent: Instant?
    private var first: Instant?
    /// Apps that were launched cold since the lull began.
    var missed: Set<AppIdentifier> = []

    mutating func launched(
        _ app: AppIdentifier, isCold: Bool, isSilent: Bool, at now: Instant, _ delay: Duration
    ) {
        if last.map({ $0.advanced(by: delay) <= now }) ?? true {
            first = now
            missed = []
        }
        last = now
        if isSilent { lastSilent = now }
        if isCold { missed.insert(app) }
    }

    /// Whether a prewarm of the app must not begin, if no client waits for it.
    func forbids(_ app: AppIdentifier, at now: Instant, _ delay: Duration) -> Bool {
        guard let lastSilent, let first, !missed.contains(app) else { return false }
        return now < lastSilent.advanced(by: delay) && now < first.advanced(by: delay * Lull.limit)
    }

    mutating func restart() {
        (first, last, lastSilent) = (nil, nil, nil)
        missed = []
    }
}

extension Checker {
    mutating func noteLaunched(_ record: InstanceRecord, at now: Instant) {
        lull.launched(
            record.app, isCold: record.launchKind == .cold,
            isSilent: installed[record.app]?.readyCondition == .exec, at: now, policy.refillDelay)
    }

    func checkLull(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ now: Instant
    ) throws(Violation) {
        let isWish = owed.values.contains {
            if case .prewarm(app, _) = $0 { true } else { false }
        }
        if isWish || machine.hints[app].map({ $0 > now }) ?? false { return }
        try require(
            !lull.forbids(app, at: now, policy.refillDelay),
            "prewarmed \(id) of \(app), while a launched app settles")
    }

    /// An instance for which a client waits is not held back.
    func checkPriority(of id: InstanceIdentifier) throws(Violation) {
        try require(lull.priorities[id] != .preparing, "told \(id) to go while it is held back")
    }
}
