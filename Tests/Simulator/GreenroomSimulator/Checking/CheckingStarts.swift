import GreenroomLifecycle

// Starts that no client asked for, and apps that depend on others.

/// A launch of an app, identified by its name.
struct BegunLaunch: Hashable, Sendable {
    var app: AppIdentifier
    var name: LaunchIdentifier
}

extension Checker {
    mutating func forgive(_ app: AppIdentifier) {
        if installed[app] != nil { forgetFailures(of: app) }
    }

    mutating func noteEnd(of target: Target, ordered transition: Transition) {
        guard case .instance(let id) = target,
            transition == .terminate || transition == .forceQuit,
            let record = saved[id], record.state != .notRunning
        else { return }
        endedByClient.insert(id)
    }

    /// Whether another app names the app in Conflicts=, so that a launch may have to wait.
    func isNamed(_ app: AppIdentifier) -> Bool {
        installed.values.contains { $0.dependencies.value?.conflicts.contains(app) == true }
    }

    /// Checks that an instance may begin to run for a launch.
    mutating func checkBeginning(_ id: InstanceIdentifier, _ now: Instant) throws(Violation) {
        guard let record = saved[id], let name = record.launchIdentifier,
            begun.insert(BegunLaunch(app: record.app, name: name)).inserted,
            let description = installed[record.app]
        else { return }
        try require(
            !isForceQuit(record.app), "launched \(record.app), which its user force-quit")
        try checkSingle(record)
        let supervision = description.supervision.value
        if record.isAutomatic {
            let limit = supervision ?? Supervision()
            let recent = (starts[record.app] ?? []).filter {
                $0.duration(to: now) < limit.startLimitInterval
            }
            try require(
                limit.startLimitBurst == 0 || recent.count < limit.startLimitBurst,
                "started \(record.app) more often than its start limit")
            try require(
                !saved.values.contains {
                    $0.app == record.app && $0.instance != id && !$0.isAttached && isUp($0.state)
                }, "started \(record.app) though it runs")
            starts[record.app, default: []].append(now)
        }
        try checkDependencies(of: description, id)
    }

    private func checkDependencies(
        of description: AppDescription, _ id: InstanceIdentifier
    ) throws(Violation) {
        guard let dependencies = description.dependencies.value else { return }
        // A launch that began with an instance which did not start goes on, perhaps under the name
        // of a request that had joined it.
        let isContinued = saved.values.contains {
            $0.app == description.identifier && $0.endReason == .goFailed
                && self.states[$0.instance] == .launching
        }
        if isContinued { return }
        // The states announced so far. A later effect of the same event may end one of these
        // instances again.
        func states(of app: AppIdentifier) -> [ExecutionState] {
            saved.values.filter { $0.app == app && $0.instance != id }.compactMap {
                $0.isAttached ? nil : self.states[$0.instance]
            }
        }
        for other in dependencies.requires {
            let isReady = states(of: other).contains { isUp($0) && $0 != .launching }
            try require(isReady, "started \(id) before \(other), which it requires, was ready")
        }
        for other in dependencies.after {
            let states = states(of: other)
            let isStarting =
                states.contains(.launching) && !states.contains { isUp($0) && $0 != .launching }
            try require(!isStarting, "started \(id) before \(other), which it comes after")
        }
        for other in dependencies.conflicts {
            let isThere = states(of: other).contains(where: isUp)
            try require(!isThere, "started \(id) beside \(other), which it conflicts with")
        }
    }

    private func isUp(_ state: ExecutionState) -> Bool {
        switch state {
        case .launching, .inactive, .active, .background, .suspended: true
        case .notRunning, .prewarming, .prewarmed, .terminating: false
        }
    }

    mutating func checkRestart(
        of app: AppIdentifier, at instant: Instant, _ event: Event, _ now: Instant
    ) throws(Violation) {
        tally.appRestarts += 1
        try require(instant > now, "restarts \(app) without a pause")
        try require(!isShuttingDown, "restarts \(app) while shutting down")
        switch event {
        case .exited(let id, _), .emptied(let id), .reconciled(let id, found: _):
            // The end of another app's instance may let a launch of this app go on, and that launch
            // may fail.
            let isEndedByClient = endedByClient.contains(id) && saved[id]?.app == app
            try require(!isEndedByClient, "restarts \(app) though a client ended \(id)")
        default: break
        }
    }

    func checkListening(_ app: AppIdentifier) throws(Violation) {
        try require(installed[app]?.hasSockets == true, "watches \(app), which has no sockets")
        let up = saved.values.filter { $0.app == app && isUp($0.state) }
        try require(
            up.allSatisfy { $0.state == .suspended }, "watches the sockets of running \(app)")
        guard up.isEmpty else { return }
        try require(savedApps[app]?.failure == nil, "watches the sockets of failed \(app)")
        try require(!isForceQuit(app), "watches the sockets of \(app), which was force-quit")
    }
}
