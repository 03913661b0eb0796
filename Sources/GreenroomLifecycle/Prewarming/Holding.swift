// Decides for whom programs are held at their first windows. A held program has 25 to 120 MB, some
// ten times as much as one that is paused before main. So all of them together have a budget of
// their own (`Policy.windowByteBudget`), and nothing is held for a user whom no display shows:
//
//   the budget is 0, or the app's user has no active session
//                                  → the app is prewarmed as far as `libraries`
//   the budget has no room         → what is held for users without an active session ends; if
//                                    that is not enough, the app goes as far as `libraries`
//   a session becomes inactive     → what is held stays for `windowGrace`, and nothing new is held
//   it is active again by then     → as if nothing had happened
//   it is not                      → what is held ends, and the pool is filled to `libraries`
//   it becomes active later        → paused instances that could be held and fit are made anew
//   the user logs out              → what is held ends at once, because the display is gone
//
// What is held in the grace still serves launches, and is reclaimed first as always. While nobody
// follows sessions (`Event.sessionsActive`), or if the policy says so, each user counts as active.

/// Why an app that could be held at its first window is not.
public enum NotHeldReason: Hashable, Sendable {
    /// The budget is 0.
    case isOff
    /// Its user has no active session.
    case isInactive
    /// The budget has no room for it.
    case isOverBudget
}

extension Lifecycle {
    /// Why the app's next instance is not held at its first window, although the app's depth is
    /// `window` and holding has not failed; nil if it is held.
    public func reasonNotHeld(of app: AppIdentifier) -> NotHeldReason? {
        guard let entry = directory[app], let description = entry.description,
            description.depth == .window, demotion(of: app)?.sparesWindow ?? true
        else { return nil }
        if policy.windowByteBudget == 0 { return .isOff }
        guard mayHold(description.value) else { return .isInactive }
        let isHeld = (entry.pool + entry.filling).contains { self[$0].record.depth == .window }
        let isTooLarge = reserve(for: app, .window) > windowRoom + heldByteCountOfInactive
        return !isHeld && isTooLarge ? .isOverBudget : nil
    }

    /// Whether more instances of the app may be held at their first windows, if there is room.
    func mayHold(_ description: AppDescription) -> Bool {
        guard policy.windowByteBudget > 0 else { return false }
        guard policy.windowNeedsSession, let activeGroups else { return true }
        return description.loginGroup.map(activeGroups.contains) == true
    }

    func mayHold(_ app: AppIdentifier) -> Bool {
        directory[app]?.description.map { mayHold($0.value) } == true
    }

    // MARK: Bytes

    /// How many bytes one more held instance may use.
    var windowRoom: UInt64 { policy.windowByteBudget - min(heldBytes, policy.windowByteBudget) }

    /// The memory that is set aside for the app's next instance.
    func reserve(for app: AppIdentifier, _ depth: PrewarmDepth) -> UInt64 {
        let isHeld = depth == .window
        let measured = isHeld ? self[app].heldByteCount : self[app].record.measuredByteCount
        if measured > 0 { return measured }
        return isHeld ? policy.assumedWindowBytes : policy.assumedPrewarmBytes
    }

    /// The memory of the app's latest instance that was prewarmed as far as the next one will be;
    /// nil before the first.
    public func measuredByteCount(of app: AppIdentifier) -> UInt64? {
        guard let entry = directory[app] else { return nil }
        let isHeld = entry.poolKey.map { depth(of: app, $0) } == .window
        let measured = isHeld ? entry.heldByteCount : entry.record.measuredByteCount
        return measured > 0 ? measured : nil
    }

    /// The instance has paused, or was measured again.
    mutating func noteSize(of record: InstanceRecord) {
        if record.depth == .window {
            self[record.app].heldByteCount = record.byteCount
        } else {
            updateApp(record.app) { $0.measuredByteCount = record.byteCount }
        }
    }

    /// How far the app's next instance goes. If there is no room to hold it, what is held for users
    /// without an active session makes place.
    mutating func depthThatFits(_ app: AppIdentifier) -> PrewarmDepth {
        let key = self[app].poolKey!
        let depth = depth(of: app, key)
        let byteCount = reserve(for: app, .window)
        guard depth == .window, byteCount > windowRoom else { return depth }
        guard byteCount <= windowRoom + heldByteCountOfInactive else {
            return depthUnheld(of: app, key)
        }
        for id in prewarmsByValue(including: [.prewarmed, .prewarming])
        where byteCount > windowRoom && isHeldForInactive(self[id].record) {
            end(id, .poolTrimmed, gently: false)
        }
        return depth
    }

    private var heldByteCountOfInactive: UInt64 {
        guard activeGroups != nil, heldBytes > 0 else { return 0 }
        return table.values.reduce(0) {
            isHeldForInactive($1.record) ? $0 + $1.record.byteCount : $0
        }
    }

    private func isHeldForInactive(_ record: InstanceRecord) -> Bool {
        guard record.state.isPrewarm, record.depth == .window,
            let description = directory[record.app]?.description
        else { return false }
        return !mayHold(description.value)
    }

    // MARK: Sessions

    mutating func sessionsActive(_ groups: Set<String>) {
        let came = activeGroups.map(groups.subtracting) ?? []
        activeGroups = groups
        // Held instances in the records are reviewed once everything is known (`restored`).
        if isRestoring { return }
        for group in came { deadlines.remove(.inactive(group: group)) }
        reviewHeld()
        holdInstead(
            of: directory.values.filter {
                $0.description?.loginGroup.map(came.contains) == true
            }.map(\.record.app).sorted())
    }

    /// The grace is over, and the session has not become active again.
    mutating func staysInactive(_ group: String) {
        for app in directory.keys.sorted()
        where directory[app]?.description?.loginGroup == group {
            endHeld(of: app)
        }
    }

    /// Ends held instances of apps that may not be held any more, at once or after `windowGrace`.
    mutating func reviewHeld() {
        if isRestoring { return }
        for app in directory.keys.sorted() { reviewHeld(of: app) }
    }

    mutating func reviewHeld(of app: AppIdentifier) {
        guard let entry = directory[app], let description = entry.description,
            !mayHold(description.value), hasHeld(entry.value)
        else { return }
        guard policy.windowByteBudget > 0, let group = description.loginGroup,
            loginGroups.contains(group)
        else { return endHeld(of: app) }
        guard deadlines[.inactive(group: group)] == nil else { return }
        deadlines.set(.inactive(group: group), at: now.advanced(by: policy.windowGrace))
    }

    private mutating func endHeld(of app: AppIdentifier) {
        guard let entry = directory[app], hasHeld(entry.value) else { return }
        for id in entry.pool + entry.filling where self[id].record.depth == .window {
            end(id, .poolTrimmed, gently: false)
        }
        wantRefill(of: app)
    }

    private func hasHeld(_ app: App) -> Bool {
        (app.pool + app.filling).contains { self[$0].record.depth == .window }
    }

    /// Ends paused instances of the apps in whose place others can be held now.
    mutating func holdInstead(of apps: [AppIdentifier]) {
        var room = windowRoom + heldByteCountOfInactive
        for app in apps {
            guard let key = directory[app]?.poolKey, depth(of: app, key) == .window,
                keptCount(of: app) > 0, fillRefusal(app) == nil
            else { continue }
            // What ended now could not be replaced at once.
            if policy.inspectsConditions, conditions.obstacle != nil || now < prewarmingStarts {
                toBeHeld.insert(app)
                deadlines.set(
                    .conditions, at: max(prewarmingStarts, conditions.nextInspection ?? now))
                continue
            }
            for id in latestMembers(of: app)
            where self[id].record.depth != .window && self[id].claim == nil {
                let byteCount = reserve(for: app, .window)
                guard byteCount <= room else { break }
                room -= byteCount
                end(id, .poolTrimmed, gently: false)
            }
            wantRefill(of: app)
        }
    }
}
