// Notices that an app need not answer: protected data, memory, time, discarded sessions. A
// suspended app cannot be notified: notices that will still matter are kept until it runs again.

/// What a running app is notified about (UIApplicationDelegate).
public enum Notice: Hashable, Sendable {
    case didReceiveMemoryWarning
    /// The clock was set, midnight has passed, or the time zone changed.
    case significantTimeChange
    case protectedDataWillBecomeUnavailable
    /// The data became unavailable while the app was suspended. The app is told this before
    /// anything else, and is not told that the lock is coming.
    case protectedDataIsUnavailable
    case protectedDataDidBecomeAvailable
    case discardedSessions([SceneIdentifier])
    /// The instance was suspended, and was thawed because somebody connects to a socket of its app.
    case connectionArrived
}

/// The notices that a suspended app missed.
struct MissedNotices: OptionSet, Hashable, Sendable {
    let rawValue: UInt8
    static let timeChange = MissedNotices(rawValue: 1)
    /// The session was locked or unlocked.
    static let protectedData = MissedNotices(rawValue: 2)
}

extension Lifecycle {
    /// Whether the user's protected data can be read.
    public func isProtectedDataAvailable(toUser user: UInt32) -> Bool {
        !lockedUsers.contains(user)
    }

    mutating func sessionLockChanged(ofUser user: UInt32, isLocked: Bool) {
        let isNew =
            isLocked ? lockedUsers.insert(user).inserted : lockedUsers.remove(user) != nil
        guard isNew else { return }
        // The app becomes inactive before its data becomes unavailable, and active after its data
        // is available again.
        if isLocked { reviewInterruptions(ofUser: user) }
        for id in listeners() where userOfApp(of: id) == user {
            if self[id].record.state == .suspended {
                self[id].missed.insert(.protectedData)
            } else if isLocked {
                effects.append(.notify(id, .protectedDataWillBecomeUnavailable))
            } else {
                notifyOfUnlock(id)
            }
        }
        if !isLocked { reviewInterruptions(ofUser: user) }
    }

    private mutating func reviewInterruptions(ofUser user: UInt32) {
        let apps = directory.filter { $0.value.description?.user == user }.keys
        for app in apps.sorted() { reviewInterruptions(of: app) }
    }

    private mutating func notifyOfUnlock(_ id: InstanceIdentifier) {
        effects.append(.notify(id, .protectedDataDidBecomeAvailable))
        handOverWithheld(to: id)
    }

    func userOfApp(of id: InstanceIdentifier) -> UInt32? {
        directory[self[id].record.app]?.description?.user
    }

    mutating func timeChanged() {
        for id in listeners() {
            if self[id].record.state == .suspended {
                self[id].missed.insert(.timeChange)
            } else {
                effects.append(.notify(id, .significantTimeChange))
            }
        }
    }

    /// Asks apps that could release memory to do so, before memory is taken back.
    mutating func warnOfPressure() {
        for id in listeners() where self[id].record.state != .suspended {
            effects.append(.notify(id, .didReceiveMemoryWarning))
        }
    }

    /// Asks one app that stalls alone to release memory.
    mutating func warnOfPressure(_ id: InstanceIdentifier) {
        guard listeners().contains(id), self[id].record.state != .suspended else { return }
        effects.append(.notify(id, .didReceiveMemoryWarning))
    }

    /// Tells an instance that runs again what it missed while it was suspended.
    mutating func tellMissed(_ id: InstanceIdentifier) {
        let missed = self[id].missed
        self[id].missed = []
        if missed.contains(.protectedData), let user = userOfApp(of: id) {
            if lockedUsers.contains(user) {
                effects.append(.notify(id, .protectedDataIsUnavailable))
            } else {
                notifyOfUnlock(id)
            }
        }
        if missed.contains(.timeChange) { effects.append(.notify(id, .significantTimeChange)) }
        if self[id].record.manner == .acknowledging { tellDiscarded(id) }
    }

    /// The running instances of apps that can be notified, by identifier.
    private func listeners() -> [InstanceIdentifier] {
        let apps = directory.values.filter { manner(of: $0.record.app) == .acknowledging }
        return apps.flatMap { $0.running.union($0.attached) }
            .filter { !self[$0].isUndecided }.sorted()
    }
}
