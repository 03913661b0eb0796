import GreenroomLifecycle

// Only the user launches an app that the user force-quit. An app with a single instance does not
// begin before its former instance has ended.

extension Checker {
    /// Whether nothing but the user may launch the app.
    func isForceQuit(_ app: AppIdentifier) -> Bool {
        savedApps[app]?.isForceQuit == true && forceQuitLasts(for: app)
    }

    private func forceQuitLasts(for app: AppIdentifier) -> Bool {
        guard let description = installed[app] else { return false }
        let isService =
            description.autostart.value?.atBoot == true
            || ![nil, .never].contains(description.supervision.value?.restart)
        return description.forceQuitLasts ?? (policy.forceQuitLasts && !isService)
    }

    mutating func noteForceQuit(_ target: Target, _ transition: Transition) {
        guard transition == .forceQuit, case .instance(let id) = target, let record = saved[id],
            record.state.isRunning
        else { return }
        forceQuit = record
    }

    /// Checks a record of an app before it is saved.
    func checkForceQuit(_ new: AppRecord, _ event: Event) throws(Violation) {
        let old = savedApps[new.app]
        if new.isForceQuit, old?.isForceQuit != true {
            guard case .requested(_, .transition(_, .forceQuit)) = event else {
                throw Violation("\(new.app) counts as force-quit, but nobody force-quit it")
            }
        }
        try require(
            !new.isForceQuit || installed[new.app] == nil || forceQuitLasts(for: new.app),
            "\(new.app) counts as force-quit, which does not last")
        guard old?.isForceQuit == true, !new.isForceQuit else { return }
        switch event {
        case .requested(_, .launch(let launch)):
            try require(
                !launch.inBackground || launch.isAttached,
                "a launch in the background ends the force quit of \(new.app)")
        case .requested(_, .resetFailed), .requested(_, .runTask), .loggedIn, .restored,
            .shutdownCancelled, .called(_, isLaunch: true):
            break
        case .appInstalled, .policyChanged:
            try require(
                !forceQuitLasts(for: new.app), "the force quit of \(new.app) ends with an update")
        case .paused(let id, _, _, _) where called.contains(id): break
        case _:
            let isRequired = installed.values.contains {
                $0.dependencies.value?.requires.contains(new.app) == true
            }
            try require(isRequired, "the force quit of \(new.app) ends without the user")
        }
    }

    /// Checks that a force quit of the last instance was noted.
    mutating func checkForceQuitNoted() throws(Violation) {
        guard let record = forceQuit else { return }
        forceQuit = nil
        let app = record.app
        let isAwaited = owed.values.contains {
            if case .launch(let launch) = $0 { launch.app == app } else { false }
        }
        let isUp = saved.values.contains { $0.app == app && $0.state.isRunning }
        guard installed[app] != nil, forceQuitLasts(for: app), !isAwaited, !isUp
        else { return }
        try require(isForceQuit(app), "the force quit of \(app) is forgotten")
    }

    /// Checks that no former instance of an app with a single instance is still ending.
    func checkSingle(_ record: InstanceRecord) throws(Violation) {
        guard installed[record.app]?.isSingleInstance == true, !record.isAttached else { return }
        let other = saved.values.first {
            $0.app == record.app && $0.instance != record.instance && $0.state == .terminating
                && $0.lastState?.isRunning == true && $0.endReason != .goFailed
        }
        try require(other == nil, "began \(record.instance) while \(other!.instance) is ending")
    }
}
