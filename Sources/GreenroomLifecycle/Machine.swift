// The life of the machine: users log in and out, it sleeps, it shuts down, and sometimes the
// shutdown is cancelled.

extension Lifecycle {
    mutating func loggedIn(_ group: String) {
        guard loginGroups.insert(group).inserted else { return }
        let waiting = directory.values.filter {
            $0.description?.loginGroup == group && $0.description?.isWarmInSession == true
        }
        for app in waiting.map(\.record.app).sorted() { wantRefill(of: app) }
        guard isRestored else { return }
        let logging = directory.values.filter {
            $0.description?.autostart.value?.loginGroup == group
        }
        considerAutostart(logging.map(\.record.app).sorted(), mayStart: true)
    }

    /// Ends what was paused for the login session. The next login starts the apps that start at
    /// login.
    mutating func loggedOut(_ group: String) {
        guard loginGroups.remove(group) != nil else { return }
        deadlines.remove(.inactive(group: group))
        reviewHeld()
        for app in directory.keys.sorted() {
            guard let entry = directory[app], let description = entry.description else { continue }
            if description.autostart.value?.loginGroup == group, entry.record.hasSeenLogin {
                updateApp(app) { $0.hasSeenLogin = false }
            }
            // The pool is still wanted if a client asked for it.
            guard description.isWarmInSession, description.loginGroup == group,
                !entry.record.isPoolWanted
            else { continue }
            for id in entry.pool + entry.filling { end(id, .poolTrimmed, gently: false) }
        }
    }

    /// Takes note of users who logged out while no supervisor was running.
    mutating func forgetFormerLogins() {
        for app in directory.keys.sorted() where self[app].record.hasSeenLogin {
            guard let autostart = self[app].description?.autostart.value,
                !loginGroups.contains(autostart.loginGroup)
            else { continue }
            updateApp(app) { $0.hasSeenLogin = false }
        }
    }

    /// Continues as after a boot, because every instance was told to end.
    mutating func shutdownCancelled() {
        guard isShuttingDown else { return }
        isShuttingDown = false
        let apps = directory.keys.sorted()
        for app in apps {
            updateApp(app) {
                $0.hasSeenBoot = false
                $0.hasSeenLogin = false
            }
            wantRefill(of: app)
            reviewSocket(of: app)
        }
        considerAutostart(apps, mayStart: true)
        schedule.needsReview = true
    }
}

extension AppDescription {
    /// The foreground group whose login `PrewarmOccasion.login` waits for.
    var loginGroup: String? { userLoginGroup ?? foregroundGroup }

    /// Whether instances that no client asked for are paused for the login session.
    fileprivate var isWarmInSession: Bool {
        switch prewarmOccasion {
        case .login, .auto: true
        case .boot, .demand, .never: false
        }
    }
}
