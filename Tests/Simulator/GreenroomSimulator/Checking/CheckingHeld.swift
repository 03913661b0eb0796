import GreenroomLifecycle

/// What the checker knows of programs that are held at their first windows.
struct HeldBooks: Sendable {
    /// The groups whose user has an active session; nil while nobody follows sessions.
    var active: Set<String>?
    var loggedIn: Set<String> = []
    var byteCount: UInt64 = 0
    private(set) var instances: Set<InstanceIdentifier> = []
    /// The time since which each held instance may no longer be held.
    var unwelcomeSince: [InstanceIdentifier: Instant] = [:]
    /// The most memory that a held instance of each app has had.
    private var largest: [AppIdentifier: UInt64] = [:]

    mutating func count(_ record: InstanceRecord, _ sign: Int) {
        if sign > 0 {
            byteCount += record.byteCount
            instances.insert(record.instance)
        } else {
            byteCount -= record.byteCount
            instances.remove(record.instance)
        }
    }

    /// The memory of a held instance was measured.
    mutating func noteSize(of app: AppIdentifier, _ byteCount: UInt64) {
        largest[app] = max(largest[app] ?? 0, byteCount)
    }

    /// At most this much memory is set aside for an instance of the app.
    func largest(_ app: AppIdentifier, _ policy: Policy) -> UInt64 {
        max(largest[app] ?? 0, policy.assumedWindowBytes)
    }

    /// A new supervisor knows nobody's session, and counts the time anew.
    mutating func restart() {
        active = nil
        loggedIn = []
        unwelcomeSince = [:]
    }
}

extension Checker {
    private func group(of description: AppDescription) -> String? {
        description.userLoginGroup ?? description.foregroundGroup
    }

    func mayHold(_ description: AppDescription) -> Bool {
        guard policy.windowByteBudget > 0 else { return false }
        guard policy.windowNeedsSession, let active = held.active else { return true }
        return group(of: description).map(active.contains) == true
    }

    /// What is held is within its budget; and a program whose user has no active session is held no
    /// longer than a look at another user's screen takes, and not at all after a logout.
    mutating func checkHeld(at now: Instant) throws(Violation) {
        try require(held.byteCount <= policy.windowByteBudget, "held memory over budget")
        for id in held.instances {
            guard let app = saved[id]?.app, let description = installed[app] else { continue }
            guard !mayHold(description) else {
                held.unwelcomeSince[id] = nil
                continue
            }
            try require(policy.windowByteBudget > 0, "\(id) is held, and none may be")
            let isLoggedIn = group(of: description).map(held.loggedIn.contains) == true
            try require(isLoggedIn, "\(id) is held for a user who is not logged in")
            let since = held.unwelcomeSince[id] ?? now
            held.unwelcomeSince[id] = since
            tally.unwelcomeHeld += 1
            try require(
                now <= since.advanced(by: policy.windowGrace), "\(id) is held for an absent user")
        }
        held.unwelcomeSince = held.unwelcomeSince.filter { held.instances.contains($0.key) }
    }
}
