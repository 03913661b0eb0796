internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Who tells whom: what one part finds out and another acts upon.
extension Parts {
    func wire() {
        wireApplications()
        wireTriggers()
        wireInstances()
        staleness.onStaleInstance = { [unowned self] in supervisor.handle(.becameStale($0)) }
        staleness.onChangedApps = { [unowned self] in installer.reloadInTurns() }
        control.installer = installer
        control.hasLockedSession = { [unowned self] in machine.hasLockedSession($0) }
        supervisor.onLock = { [unowned self] user, isLocked in
            do throws(SystemError) { try locked.note(user, isLocked: isLocked) } catch {
                supervisor.reporter.say(.error, "remembering who is locked: \(error)")
            }
            if !isLocked { supervisor.applications.handover.becameUnlocked(user) }
        }
    }

    private func wireApplications() {
        let applications: ApplicationChannels = supervisor.applications
        supervisor.states.send = { [unowned applications] in applications.send($0, to: $1) }
        supervisor.states.answer = { [unowned applications] in applications.answer($0, $1, $2) }
        supervisor.metrics.deliveries.send = { [unowned applications] in
            applications.send($0, to: $1)
        }
        applications.open = { [unowned self] in control.openURL($0, from: $1, as: $2) }
    }

    private func wireTriggers() {
        installer.onReload = { [unowned self] in
            let apps = catalog.apps
            timers.update(
                apps.compactMap { app in app.timer.map { (app.identifier, $0) } },
                reporter: supervisor.reporter)
            paths.update(apps.compactMap { app in app.path.map { (app.identifier, $0) } })
            paths.tryAgain { [unowned self] in supervisor.lifecycle.areTriggersLeftAlone(of: $0) }
            supervisor.handle(.triggersForgiven)
            supervisor.work.update(apps)
        }
        paths.launch = { [unowned self] in launches.launchForPath($0, $1) }
        timers.launch = { [unowned self] in launches.launchForTimer($0) }
        significantTime.onNewReckoning = { [unowned self] in timers.reckonAnew() }
        significantTime.onChange = { [unowned self] in supervisor.handle(.significantTimeChanged) }
    }

    private func wireInstances() {
        emptying.spawner = { [unowned self] in launcher.spawner }
        instances.onOrphanEnd = { [unowned self] identifier, status in
            spawnerEvents.handle(.exited(instance: identifier.rawValue, status))
            spawnerEvents.handle(.emptied(instance: identifier.rawValue))
        }
        instances.onRelease = { [unowned self] in released($0) }
    }

    /// Nothing of the instance is left, and nobody asks for it again.
    private func released(_ instance: InstanceIdentifier) {
        inspector.forget(instance)
        readiness?.forget(instance)
        supervisor.applications.forget(instance)
        supervisor.screens.forget(instance)
        supervisor.metrics.deliveries.forget(instance)
        supervisor.work.forget(instance)
        supervisor.reclaimer.measurer.forget(instance)
        launcher.forget(instance)
        supervisor.reclaimer.instancePressure.rests(instance)
        guard let app = supervisor.lifecycle.instance(instance)?.app else { return }
        if paths.has(app) { paths.look(at: app) }
        if !isEnding { emptyTemporaryFiles(of: app) }
    }
}
