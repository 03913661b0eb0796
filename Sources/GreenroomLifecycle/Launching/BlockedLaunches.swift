// Launches that other apps block. A launch is blocked while
//   an app that it conflicts with has not ended       (that app is asked to end)
//   an app that it requires is not ready              (the daemon starts that app)
//   an app that it is ordered after is being started
//   a former instance of the same app has not ended   (if the app runs only once)
//   a paused instance has not ended                   (whose place the launch takes: `Sharing`)
// Once nothing blocks the launch any more, all of these are checked again and the launch is served
// (`Launching`). It is refused if a required app ends before it is ready. A client's launch is not
// kept across a restart of the supervisor; the daemon's own launch is (`AppRecord.startAt`).
//
// Differences from systemd.unit(5): Requires= implies After=, because a launch is answered only
// when its app can work.

/// The blocked launches of one app in order of arrival, and what blocks them.
struct BlockedLaunches: Hashable, Sendable {
    var launches: [PendingLaunch]
    /// The apps that must become ready.
    var apps: Set<AppIdentifier> = []
    /// The instances that must end.
    var instances: Set<InstanceIdentifier> = []
}

/// For each app, the apps whose Conflicts= or Requires= name it, so that a launch need not look at
/// all apps.
struct Dependents: Hashable, Sendable {
    private(set) var conflicting: [AppIdentifier: Set<AppIdentifier>] = [:]
    private(set) var requiring: [AppIdentifier: Set<AppIdentifier>] = [:]

    /// The app's Conflicts= and Requires= were `old` until now, and are `new` from now on.
    mutating func replace(_ app: AppIdentifier, _ old: Dependencies?, _ new: Dependencies?) {
        guard old != new else { return }
        for other in old?.conflicts ?? [] { Self.remove(app, from: &conflicting, other) }
        for other in old?.requires ?? [] { Self.remove(app, from: &requiring, other) }
        for other in new?.conflicts ?? [] { conflicting[other, default: []].insert(app) }
        for other in new?.requires ?? [] { requiring[other, default: []].insert(app) }
    }

    private static func remove(
        _ app: AppIdentifier, from index: inout [AppIdentifier: Set<AppIdentifier>],
        _ other: AppIdentifier
    ) {
        index[other]?.remove(app)
        if index[other]?.isEmpty == true { index[other] = nil }
    }
}

/// Whether an app is ready, as other apps that depend on it see it.
enum Availability: Hashable, Sendable {
    case ready
    case starting
    case ended
}

extension Lifecycle {
    /// The blocked launches of an app that has some. Asking for those of any other app is a bug of
    /// the core, and traps with the app's name.
    subscript(blocked app: AppIdentifier) -> BlockedLaunches {
        get {
            guard let entry = blocked[app] else {
                preconditionFailure("no launch of \(app) is blocked")
            }
            return entry
        }
        _modify {
            precondition(blocked.index(forKey: app) != nil, "no launch of \(app) is blocked")
            yield &blocked[app]!
        }
    }

    func availability(of app: AppIdentifier) -> Availability {
        guard let entry = directory[app] else { return .ended }
        var availability = Availability.ended
        for id in entry.running {
            if self[id].record.state != .launching { return .ready }
            availability = .starting
        }
        if blocked[app] != nil || hasClaim(app) { return .starting }
        if let due = entry.record.startAt, due <= now { return .starting }
        return availability
    }

    // MARK: What blocks

    /// Checks everything that may block the app, each time from the beginning: an app that was ready
    /// may have ended while the launch waited for others.
    mutating func reviewBlockers(of app: AppIdentifier) {
        if blocked[app]?.launches.contains(where: { awaitsFormerEnd($0.launch) }) == true {
            self[blocked: app].instances.formUnion(self[app].ending)
        }
        endConflicting(app)
        if let (other, refusal) = startRequired(app) {
            return refuseBlocked(app, .dependencyFailed(app, on: other, refusal))
        }
        let after = directory[app]?.description?.dependencies.value?.after ?? []
        for other in after where availability(of: other) == .starting && !waits(other, for: app) {
            blocked[app]?.apps.insert(other)
        }
        guard let entry = blocked[app], entry.apps.isEmpty, entry.instances.isEmpty else {
            return
        }
        blocked[app] = nil
        for pending in entry.launches {
            // `serve` may block the app again, until a paused instance has made room. The later
            // launches then wait again too, so that their order stays.
            if blocked[app] != nil { block(pending) } else { serve(pending) }
        }
        availabilityChanged(of: app)
    }

    /// Adds a launch to the blocked launches of its app. A launch of the same name is the same
    /// launch.
    mutating func block(_ pending: PendingLaunch) {
        let app = pending.launch.app
        let name = pending.launch.launchIdentifier
        for waiter in pending.waiters { requests[waiter.request] = .blocked(app) }
        var pending = pending
        if pending.isRequested, !pending.launch.isAttached {
            // The client's launch replaces the daemon's own launch.
            let count = self[blocked: app].launches.count
            self[blocked: app].launches.removeAll(where: \.isOnlyOwn)
            if self[blocked: app].launches.count < count { pending.replacesStart = true }
        }
        let same = self[blocked: app].launches.firstIndex { $0.launch.launchIdentifier == name }
        guard let same else { return self[blocked: app].launches.append(pending) }
        if pending.replacesStart { self[blocked: app].launches[same].replacesStart = true }
        for var waiter in pending.waiters {
            waiter.isRepeated = true
            self[blocked: app].launches[same].waiters.append(waiter)
        }
    }

    /// Blocks a launch until these instances have ended.
    mutating func awaitEnd(of ids: [InstanceIdentifier], _ pending: PendingLaunch) {
        let app = pending.launch.app
        if blocked[app] == nil { blocked[app] = BlockedLaunches(launches: []) }
        block(pending)
        self[blocked: app].instances.formUnion(ids)
        reviewSocket(of: app)
    }

    private mutating func endConflicting(_ app: AppIdentifier) {
        let own = directory[app]?.description?.dependencies.value?.conflicts ?? []
        let all = Set(own).union(dependents.conflicting[app] ?? [])
        for other in all.sorted() where other != app {
            clearStart(other)
            refuseBlocked(other, .conflict(other, with: app))
            refuseClaims(of: other, .conflict(other, with: app))
            endRequiring(other)
            for id in (directory[other]?.members ?? []).sorted() {
                let state = self[id].record.state
                guard state.isRunning || state == .terminating else { continue }
                blocked[app]?.instances.insert(id)
                if state.isRunning { end(id, .conflict, gently: true) }
            }
        }
    }

    /// - Returns: the required app that cannot be started, and the reason; nil if there is none.
    private mutating func startRequired(_ app: AppIdentifier) -> (AppIdentifier, Refusal)? {
        for other in directory[app]?.description?.dependencies.value?.requires ?? []
        where other != app {
            guard blocked[app] != nil else { return nil }
            if availability(of: other) == .ready || waits(other, for: app) { continue }
            blocked[app]?.apps.insert(other)
            guard availability(of: other) == .ended else { continue }
            if let failure = directory[other]?.record.failure {
                return (other, .failed(other, failure))
            }
            if isForceQuit(other) {
                guard isWantedByUser(app) else { return (other, .forceQuit(other)) }
                forgetForceQuit(of: other)
            }
            if let refusal = startAutomatically(other) { return (other, refusal) }
            // This launch may have been refused because of that start, or the start may have failed
            // at once.
            guard blocked[app] != nil else { return nil }
            if availability(of: other) == .ended { return (other, .notRunning(.app(other))) }
        }
        return nil
    }

    /// Whether a blocked launch of `app` waits for `other`. Circular dependencies are refused when
    /// manifests are loaded, but one may exist while manifests are replaced one by one.
    private func waits(_ app: AppIdentifier, for other: AppIdentifier) -> Bool {
        var seen: Set<AppIdentifier> = []
        var next = [app]
        while let one = next.popLast() {
            if one == other { return true }
            guard seen.insert(one).inserted, let waiting = blocked[one] else { continue }
            next += waiting.apps
        }
        return false
    }

    /// Whether the app runs only once, and an instance of it is ending: two at once could use the
    /// same files. Attached launches need not wait, because they always get their own instance.
    func awaitsFormerEnd(_ launch: LaunchRequest) -> Bool {
        guard let entry = directory[launch.app], !launch.isAttached else { return false }
        return entry.description?.isSingleInstance == true && !entry.ending.isEmpty
    }

    func isBlocked(_ launch: LaunchRequest) -> Bool {
        guard !blocked.isEmpty, let launches = blocked[launch.app]?.launches else { return false }
        return launches.contains { $0.launch.launchIdentifier == launch.launchIdentifier }
    }

    // MARK: Going on

    /// An app became ready or ended. Launches that wait for it are checked at the end of the event,
    /// because the end of one instance does not matter if the app has another one by then.
    mutating func availabilityChanged(of app: AppIdentifier, because reason: ExitReason? = nil) {
        guard !blocked.isEmpty else { return }
        availabilityReviews.updateValue(reason ?? availabilityReviews[app] ?? nil, forKey: app)
    }

    /// Checks the launches that wait for apps whose availability changed. The loop ends, because
    /// each round starts, refuses or drops blocked launches and starts nothing twice.
    mutating func reviewAvailability() {
        while let app = availabilityReviews.keys.min() {
            review(app, availabilityReviews.removeValue(forKey: app)!)
        }
    }

    private mutating func review(_ app: AppIdentifier, _ reason: ExitReason?) {
        for waiting in blocked.keys.sorted() {
            guard let entry = blocked[waiting] else { continue }
            self[blocked: waiting].instances = entry.instances.filter(mayEnd)
            if entry.apps.contains(app) {
                switch availability(of: app) {
                case .starting: break
                case .ready: self[blocked: waiting].apps.remove(app)
                case .ended: dependencyEnded(app, for: waiting, reason)
                }
            }
            releaseIfFree(waiting)
        }
    }

    /// False if the instance has ended, or if not even SIGKILL has ended it.
    private func mayEnd(_ id: InstanceIdentifier) -> Bool {
        guard let record = table[id]?.record, record.state != .notRunning else { return false }
        return record.state != .terminating || record.deadline != nil
    }

    private mutating func dependencyEnded(
        _ app: AppIdentifier, for waiting: AppIdentifier, _ reason: ExitReason?
    ) {
        self[blocked: waiting].apps.remove(app)
        guard
            directory[waiting]?.description?.dependencies.value?.requires.contains(app) == true
        else { return }
        let failure = directory[app]?.record.failure
        let refusal: Refusal =
            failure.map { .failed(app, $0) } ?? .requiredEnded(app, reason ?? .unknown)
        refuseBlocked(waiting, .dependencyFailed(waiting, on: app, refusal))
    }

    private mutating func releaseIfFree(_ app: AppIdentifier) {
        guard let entry = blocked[app], entry.apps.isEmpty, entry.instances.isEmpty else {
            return
        }
        reviewBlockers(of: app)
    }

    // MARK: Giving up

    mutating func refuseBlocked(_ app: AppIdentifier, _ refusal: Refusal) {
        guard let entry = blocked.removeValue(forKey: app) else { return }
        for pending in entry.launches { refuseAll(pending, refusal) }
        if entry.launches.contains(where: { !$0.isRequested }) {
            clearStart(app)
            if case .dependencyFailed = refusal { return fail(app, .dependency) }
        }
        reviewSocket(of: app)
        availabilityChanged(of: app)
    }

    /// A client whose launch is blocked has left. The launch is withdrawn, unless somebody else
    /// waits for it: another client, the daemon, or another app that cannot start before this one.
    mutating func clientLeft(_ request: RequestIdentifier, blocked app: AppIdentifier) {
        guard
            let index = blocked[app]?.launches.firstIndex(where: { $0.waits(for: request) })
        else { return }
        self[blocked: app].launches[index].noteLeft(request)
        let pending = self[blocked: app].launches[index]
        guard pending.isForsaken, !isNeeded(app) else { return }
        self[blocked: app].launches.remove(at: index)
        if self[blocked: app].launches.isEmpty { blocked[app] = nil }
        refuseAll(pending, .cancelled(app))
        reviewSocket(of: app)
        availabilityChanged(of: app)
    }

    /// Whether a launch of another app waits for the app.
    func isNeeded(_ app: AppIdentifier) -> Bool {
        blocked.values.contains { $0.apps.contains(app) }
    }

    mutating func dropAutomaticBlocked(_ app: AppIdentifier) {
        guard blocked[app] != nil else { return }
        self[blocked: app].launches.removeAll(where: \.isOnlyOwn)
        guard self[blocked: app].launches.isEmpty else { return }
        blocked[app] = nil
        reviewSocket(of: app)
    }

    /// A client ended an app: ends the apps that require it too, and the apps that require those.
    mutating func endRequiring(_ app: AppIdentifier) {
        var seen: Set<AppIdentifier> = [app]
        var next = (dependents.requiring[app] ?? []).sorted()
        while let other = next.popLast() {
            guard seen.insert(other).inserted else { continue }
            cancelStart(other, isAll: true)
            for id in (directory[other]?.running ?? []).sorted() {
                end(id, .dependencyEnded, gently: true)
            }
            next += (dependents.requiring[other] ?? []).sorted()
        }
    }
}
