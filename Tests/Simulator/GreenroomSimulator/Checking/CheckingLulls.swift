import GreenroomLifecycle

/// What the checker knows of the lull after launches, and of who is held back.
struct LullBooks: Sendable {
    /// The priorities that the kernel has. They outlive a supervisor.
    var priorities: [InstanceIdentifier: Priority] = [:]
    /// When the last app was launched, the last one that never says that it is ready, and the first
    /// since there was no lull.
    private var last: Instant?
    private var lastSilent: Instant?
    private var first: Instant?
    /// Apps launched cold since then.
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

    /// Whether a prewarm of the app that nobody waits for must not begin.
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

    /// Nobody who waits is held back.
    func checkPriority(of id: InstanceIdentifier) throws(Violation) {
        try require(lull.priorities[id] != .preparing, "told \(id) to go, which is held back")
    }
}
