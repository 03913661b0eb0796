// The machine's own life: its users leave, it sleeps, it shuts down and sometimes does not.

extension Lifecycle {
    /// What was paused for the session goes. The next login starts what login starts.
    mutating func loggedOut(_ group: String) {
        guard sessions.remove(group) != nil else { return }
        for app in directory.keys.sorted() {
            guard let entry = directory[app], let description = entry.description else { continue }
            if description.autostart.value?.session == group, entry.record.hasSeenLogin {
                updateApp(app) { $0.hasSeenLogin = false }
            }
            // Who asked for a pool by name still waits for it.
            guard description.prewarmOccasion == .login, description.loginGroup == group,
                !entry.record.isPoolWanted
            else { continue }
            for id in entry.pool + entry.filling { end(id, .poolTrimmed, gently: false) }
        }
    }

    /// Users who left while no supervisor saw it.
    mutating func forgetFormerLogins() {
        for app in directory.keys.sorted() where self[app].record.hasSeenLogin {
            guard let autostart = self[app].description?.autostart.value,
                !sessions.contains(autostart.session)
            else { continue }
            updateApp(app) { $0.hasSeenLogin = false }
        }
    }

    /// As after a boot: every instance has been told to end.
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
    /// Whose login is the app's `PrewarmOccasion.login`.
    var loginGroup: String? { session ?? foregroundGroup }
}
