// Force quit. The user force-quit the app (`Transition.forceQuit`), so it stays ended until the
// user wants it again, as on Apple's systems:
//
//   a launch in the background (a timer, a push, any client)   is refused
//   a path                                                     is refused
//   a connection                                               waits: the sockets are not watched
//   scheduled work                                             waits (`TaskObstacle.forceQuit`)
//   a start for an app that requires it                        is refused, unless a user launches
//                                                              that app
//   a launch in the foreground, or attached                    is served, and ends the force quit
//   boot, login, if the app starts then; `resetFailed`         end the force quit
//   a manifest or a policy by which it does not last           ends the force quit
//   a manifest that is gone                                    ends the force quit
//   a manifest that is faulty or masked                        changes nothing
//
// While another instance of the app runs, the user still uses the app, so a force quit of one of
// several instances does not count. Nobody "uses" a service, so the force quit of an app that the
// daemon keeps running or starts at boot lasts only if the manifest says so (`ForceQuitLasts=`).

extension Lifecycle {
    /// Whether nothing but the user launches the app.
    public func isForceQuit(_ app: AppIdentifier) -> Bool {
        directory[app]?.record.isForceQuit == true
    }

    private func forceQuitLasts(for app: AppIdentifier) -> Bool {
        guard let description = directory[app]?.description else { return false }
        return description.forceQuitLasts
            ?? (policy.forceQuitLasts && !description.isService)
    }

    /// The user force-quit an instance of the app, or cancelled a start of the app that was due.
    mutating func noteForceQuit(of app: AppIdentifier) {
        guard let entry = directory[app], entry.running.isEmpty, entry.attached.isEmpty,
            blocked[app] == nil, !hasClaim(app), forceQuitLasts(for: app), !entry.record.isForceQuit
        else { return }
        updateApp(app) { $0.isForceQuit = true }
        reviewSocket(of: app)
    }

    /// The user wants the app again.
    mutating func forgetForceQuit(of app: AppIdentifier) {
        guard let entry = directory[app], !entry.isRemoved, entry.record.isForceQuit else { return }
        updateApp(app) { $0.isForceQuit = false }
        schedule.needsReview = true
        reviewSocket(of: app)
    }

    /// The app's manifest or the policy has changed. A start that is accepted while a force quit
    /// does not last must go on under the next manifest, so the force quit is forgotten for good.
    mutating func reviewForceQuit(of app: AppIdentifier) {
        guard directory[app]?.description != nil, !forceQuitLasts(for: app) else { return }
        forgetForceQuit(of: app)
    }

    /// Whether a user's launch waits: a launch of this app, or of an app that requires it.
    func isWantedByUser(_ app: AppIdentifier) -> Bool {
        var seen: Set<AppIdentifier> = []
        var next = [app]
        while let one = next.popLast() {
            guard seen.insert(one).inserted else { continue }
            if blocked[one]?.launches.contains(where: \.isByUser) == true { return true }
            next += blocked.keys.filter { self[blocked: $0].apps.contains(one) }
        }
        return false
    }
}

extension PendingLaunch {
    fileprivate var isByUser: Bool { isRequested && launch.isByUser }
}

extension LaunchRequest {
    /// Whether a user asks to see the app, or runs it on a terminal.
    var isByUser: Bool { !inBackground || isAttached }
}

extension AppDescription {
    /// Whether the daemon keeps the app running, or starts it at boot, whether anybody uses it or
    /// not.
    fileprivate var isService: Bool {
        autostart.value?.atBoot == true || supervision.value.map { $0.restart != .never } == true
    }
}
