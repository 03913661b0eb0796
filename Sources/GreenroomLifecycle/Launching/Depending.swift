// Launches that other apps stand before. A launch is held while
//   an app that it conflicts with has not ended       (it is asked to, first)
//   an app that it requires is not ready              (it is started, in the daemon's name)
//   an app that it comes after is being started
// and goes on, looked at again from the start, when none is left; it is refused when a required app
// ends before it is ready. What a client waits for is not kept across a restart of the supervisor,
// what the daemon itself wants is (`AppRecord.startAt`).
//
// Differences from systemd.unit(5): Requires= implies After=, since a launch is answered only when
// its app can do its work.

/// The launches of one app that wait, in the order of their coming.
struct HeldLaunches: Hashable, Sendable {
    var launches: [PendingLaunch]
    /// To become ready.
    var apps: Set<AppIdentifier> = []
    /// To end.
    var instances: Set<InstanceIdentifier> = []
}

/// How far an app is, for those that depend on it.
enum Standing: Hashable, Sendable {
    case ready
    case starting
    case ended
}

extension Lifecycle {
    func isStanding(_ app: AppIdentifier) -> Standing {
        guard let entry = directory[app] else { return .ended }
        var standing = Standing.ended
        for id in entry.running {
            if table[id]!.record.state != .launching { return .ready }
            standing = .starting
        }
        if held[app] != nil { return .starting }
        if let due = entry.record.startAt, due <= now { return .starting }
        return standing
    }

    // MARK: Coming in

    /// Takes a launch to its instance, now or when nothing stands before it any more.
    mutating func admit(_ pending: PendingLaunch) {
        let app = pending.launch.app
        if held[app] != nil { return hold(pending) }
        if directory[app]?.description?.dependencies.value == nil, conflicting[app] == nil {
            return serve(pending)
        }
        // Known as held while it looks around, so that who depends on it does not start it again.
        held[app] = HeldLaunches(launches: [pending])
        for waiter in pending.waiters { requests[waiter.request] = .held(app) }
        look(app)
    }

    /// Looks at everything that stands before the app, from the start: what was ready may have ended
    /// while others were waited for.
    private mutating func look(_ app: AppIdentifier) {
        endConflicting(app)
        if let (other, refusal) = startRequired(app) {
            return refuseHeld(app, .dependencyFailed(app, on: other, refusal))
        }
        let after = directory[app]?.description?.dependencies.value?.after ?? []
        for other in after where isStanding(other) == .starting && !waits(other, for: app) {
            held[app]?.apps.insert(other)
        }
        guard let launches = held[app], launches.apps.isEmpty, launches.instances.isEmpty else {
            return
        }
        held[app] = nil
        for pending in launches.launches { serve(pending) }
        standingChanged(of: app)
    }

    /// Behind those that are held already; a name that is held is the same launch.
    mutating func hold(_ pending: PendingLaunch) {
        let app = pending.launch.app
        let name = pending.launch.launchIdentifier
        for waiter in pending.waiters { requests[waiter.request] = .held(app) }
        if pending.request != .automatic, !pending.launch.isAttached {
            // The daemon's own wish comes true with the client's.
            held[app]!.launches.removeAll { $0.request == .automatic && $0.waiters.isEmpty }
        }
        let same = held[app]!.launches.firstIndex { $0.launch.launchIdentifier == name }
        guard let same else { return held[app]!.launches.append(pending) }
        for var waiter in pending.waiters {
            waiter.isRepeated = true
            held[app]!.launches[same].waiters.append(waiter)
        }
    }

    private mutating func endConflicting(_ app: AppIdentifier) {
        let own = directory[app]?.description?.dependencies.value?.conflicts ?? []
        for other in Set(own).union(conflicting[app] ?? []).sorted() where other != app {
            clearStart(other)
            refuseHeld(other, .conflict(other, with: app))
            endRequiring(other)
            for id in (directory[other]?.members ?? []).sorted() {
                let state = table[id]!.record.state
                guard state.isRunning || state == .terminating else { continue }
                held[app]?.instances.insert(id)
                if state.isRunning { end(id, .conflict, gently: true) }
            }
        }
    }

    /// - Returns: which one cannot be had, and why.
    private mutating func startRequired(_ app: AppIdentifier) -> (AppIdentifier, Refusal)? {
        for other in directory[app]?.description?.dependencies.value?.requires ?? []
        where other != app {
            guard held[app] != nil else { return nil }
            if isStanding(other) == .ready || waits(other, for: app) { continue }
            held[app]?.apps.insert(other)
            guard isStanding(other) == .ended else { continue }
            if let failure = directory[other]?.record.failure {
                return (other, .failed(other, failure))
            }
            if let refusal = startAutomatically(other) { return (other, refusal) }
            // Starting it may have refused this launch, or have failed at once.
            guard held[app] != nil else { return nil }
            if isStanding(other) == .ended { return (other, .notRunning(.app(other))) }
        }
        return nil
    }

    /// Manifests in a circle are refused when they are loaded; while a set of them is replaced one by
    /// one there may be a circle all the same.
    private func waits(_ app: AppIdentifier, for other: AppIdentifier) -> Bool {
        var seen: Set<AppIdentifier> = []
        var next = [app]
        while let one = next.popLast() {
            if one == other { return true }
            guard seen.insert(one).inserted, let waiting = held[one] else { continue }
            next += waiting.apps
        }
        return false
    }

    func isHeld(_ launch: LaunchRequest) -> Bool {
        guard !held.isEmpty, let launches = held[launch.app]?.launches else { return false }
        return launches.contains { $0.launch.launchIdentifier == launch.launchIdentifier }
    }

    // MARK: Going on

    /// Something became ready or ended: who waits for it looks again once the event is decided, so
    /// that an end that another instance makes up for is none.
    mutating func standingChanged(of app: AppIdentifier, because reason: ExitReason? = nil) {
        guard !held.isEmpty else { return }
        standingReviews.updateValue(reason ?? standingReviews[app] ?? nil, forKey: app)
    }

    /// Ends: each round starts, refuses or drops launches that are held, and starts nothing twice.
    mutating func reviewStandings() {
        while let app = standingReviews.keys.min() {
            review(app, standingReviews.removeValue(forKey: app)!)
        }
    }

    private mutating func review(_ app: AppIdentifier, _ reason: ExitReason?) {
        for waiting in held.keys.sorted() {
            guard let launches = held[waiting] else { continue }
            held[waiting]!.instances = launches.instances.filter {
                table[$0].map { $0.record.state != .notRunning } ?? false
            }
            if launches.apps.contains(app) {
                switch isStanding(app) {
                case .starting: break
                case .ready: held[waiting]!.apps.remove(app)
                case .ended: dependencyEnded(app, for: waiting, reason)
                }
            }
            releaseIfFree(waiting)
        }
    }

    private mutating func dependencyEnded(
        _ app: AppIdentifier, for waiting: AppIdentifier, _ reason: ExitReason?
    ) {
        held[waiting]!.apps.remove(app)
        guard
            directory[waiting]?.description?.dependencies.value?.requires.contains(app) == true
        else { return }
        let failure = directory[app]?.record.failure
        let refusal: Refusal =
            failure.map { .failed(app, $0) } ?? .requiredEnded(app, reason ?? .unknown)
        refuseHeld(waiting, .dependencyFailed(waiting, on: app, refusal))
    }

    private mutating func releaseIfFree(_ app: AppIdentifier) {
        guard let launches = held[app], launches.apps.isEmpty, launches.instances.isEmpty else {
            return
        }
        look(app)
    }

    /// Nothing stands before it.
    private mutating func serve(_ pending: PendingLaunch) {
        let launch = pending.launch
        let isAutomatic = pending.request == .automatic
        guard let description = directory[launch.app]?.description else {
            return refuseAll(pending, .noSuchApp(launch.app))
        }
        if isAutomatic {
            clearStart(launch.app)
            if directory[launch.app]?.running.isEmpty == false { return }
            let supervision = description.supervision.value ?? Supervision()
            guard mayStart(launch.app, supervision) else { return fail(launch.app, .startLimit) }
            countStart(launch.app, supervision)
        }
        if let running = instanceToJoin(launch) {
            for waiter in pending.waiters {
                if let known = launches[launch.app, waiter.launchIdentifier] {
                    repeatLaunch(waiter.request, launch, of: known)
                } else {
                    join(waiter.request, launch, running)
                }
            }
            return
        }
        begin(pending, after: nil)
    }

    // MARK: Giving up

    mutating func refuseHeld(_ app: AppIdentifier, _ refusal: Refusal) {
        guard let launches = held.removeValue(forKey: app) else { return }
        for pending in launches.launches { refuseAll(pending, refusal) }
        if launches.launches.contains(where: { $0.request == .automatic }) {
            clearStart(app)
            if case .dependencyFailed = refusal { return fail(app, .dependency) }
        }
        reviewSocket(of: app)
        standingChanged(of: app)
    }

    mutating func dropAutomaticHeld(_ app: AppIdentifier) {
        guard held[app] != nil else { return }
        held[app]!.launches.removeAll { $0.request == .automatic && $0.waiters.isEmpty }
        guard held[app]!.launches.isEmpty else { return }
        held[app] = nil
        reviewSocket(of: app)
    }

    /// A client ended an app: what requires it goes as well, and what requires that.
    mutating func endRequiring(_ app: AppIdentifier) {
        var seen: Set<AppIdentifier> = [app]
        var next = (requiring[app] ?? []).sorted()
        while let other = next.popLast() {
            guard seen.insert(other).inserted else { continue }
            cancelStart(other, isAll: true)
            for id in (directory[other]?.running ?? []).sorted() {
                end(id, .dependencyEnded, gently: true)
            }
            next += (requiring[other] ?? []).sorted()
        }
    }

    // MARK: The index

    /// Who names this app in Requires= and Conflicts=, so that no launch looks at all apps.
    mutating func indexDependencies(
        of app: AppIdentifier, _ old: Dependencies?, _ new: Dependencies?
    ) {
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
