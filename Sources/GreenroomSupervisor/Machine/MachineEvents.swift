internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Turns the machine's own life into events of the core: users log in and out, screens are locked,
/// the machine sleeps and shuts down. Where a part of systemd-logind is missing, that is logged
/// once and the part is not followed.
@LoopActor
final class MachineEvents {
    private let core: Core
    private let catalog: AppCatalog
    private let installer: AppInstaller
    private let locks: UserLocks
    private let planning: WarmPlanning
    private let log: Log
    private let isSystem: Bool

    private var logins: Logins?
    private var logind: Logind?
    private var isLeaving = false
    private var isConnected = false
    private var users: Set<UInt32> = []
    /// Nil until logind tells of them: then all users count as if they were in front of a display.
    private var activeUsers: Set<UInt32>?
    private var surroundings: [UInt32: LoginEnvironment.Surroundings] = [:]

    init(
        core: Core, catalog: AppCatalog, installer: AppInstaller, locks: UserLocks,
        planning: WarmPlanning, log: Log, isSystem: Bool
    ) {
        self.core = core
        self.catalog = catalog
        self.installer = installer
        self.locks = locks
        self.planning = planning
        self.log = log
        self.isSystem = isSystem
    }

    /// Reports the users that are logged in already; called before `Event.restored`.
    ///
    /// Whoever runs a daemon of their own counts as logged in. The system's daemon always runs, so
    /// root needs a session like everybody else, if anybody can tell of sessions.
    func begin() {
        do throws(SystemdError) {
            let logins = try Logins { [unowned self] in usersChanged() }
            Inotify.markSlow(logins.descriptorNumber)
            self.logins = logins
        } catch {
            log.sayOnce("no systemd-logind (\(error)): logins are not followed")
        }
        if !isSystem || !hasLogind { core.handle(.loggedIn(foregroundGroup: group(getuid()))) }
        reviewActiveUsers()
        users = Logins.users
        for user in users.sorted() { core.handle(.loggedIn(foregroundGroup: group(user))) }
        for user in owners { surroundings[user] = .init(ofUser: user) }
    }

    /// Connects to logind once the daemon serves, so that a bus that is slow to answer holds up
    /// nobody.
    func connect() {
        do throws(SystemdError) {
            logind = try Logind { [unowned self] in hear($0) }
            isConnected = true
        } catch {
            log.sayOnce(
                "no system bus (\(error)): locks, sleep and shutdown are not followed")
        }
    }

    /// Whether a session of the user is locked, as far as logind says so.
    func hasLockedSession(_ user: UInt32) -> Bool { logind?.hasLockedSession(user) ?? false }

    private func group(_ user: UInt32) -> String { AppDescription.loginGroup(ofUser: user) }

    /// The users that apps run as, without the daemon's own, whose environment is the daemon's.
    private var owners: Set<UInt32> {
        Set(catalog.unsortedApps.filter(\.identity.changesUser).map(\.account.user))
    }

    private func usersChanged() {
        let now = Logins.users
        let (came, went) = (now.subtracting(users), users.subtracting(now))
        users = now
        // The apps' environments are reviewed first, because a login is a reason to start apps.
        reviewSurroundings()
        reviewActiveUsers()
        for user in came.sorted() { core.handle(.loggedIn(foregroundGroup: group(user))) }
        for user in went.sorted() { core.handle(.loggedOut(foregroundGroup: group(user))) }
        if !came.isEmpty || !went.isEmpty { planning.review() }
        if !isConnected, !came.isEmpty { connect() }
    }

    private var hasLogind: Bool { logins != nil && Logins.isServed }

    private func reviewActiveUsers() {
        guard hasLogind else { return }
        let active = Logins.activeUsers
        guard active != activeUsers else { return }
        activeUsers = active
        core.handle(.sessionsActive(foregroundGroups: Set(active.map(group))))
    }

    private func reviewSurroundings() {
        var latest: [UInt32: LoginEnvironment.Surroundings] = [:]
        for user in owners { latest[user] = .init(ofUser: user) }
        guard latest != surroundings else { return }
        surroundings = latest
        // A user's runtime directory or bus came or went: environments are made again.
        installer.reload()
    }

    private func hear(_ news: Logind.News) {
        switch news {
        case .lockChanged(let user, let isLocked):
            log.say(.info, "user \(user): the session is \(isLocked ? "locked" : "unlocked")")
            locks.note(user, isLocked: isLocked)
        case .sleepChanged(let isAsleep):
            log.say(
                .info, isAsleep ? "the machine goes to sleep: no prewarming" : "awake again")
            core.handle(.sleepChanged(isAsleep: isAsleep))
            if !isAsleep { planning.review() }
        case .becameActive: planning.review()
        case .shutdownChanged(let isShuttingDown):
            // A daemon that stops ends the apps for good in any case.
            guard !isLeaving else { return }
            isShuttingDown ? shutDown() : goOn()
        case .failed(let reason): log.sayOnce(reason)
        case .disconnected:
            log.say(.notice, "the system bus is gone; it is looked for at the next login")
            isConnected = false
        }
    }

    /// The daemon stops: a shutdown of the machine no longer decides about the apps.
    func leave() { isLeaving = true }

    /// Asks the apps to end. logind delays the shutdown until they have ended, for at most the time
    /// that it is configured to wait.
    private func shutDown() {
        log.say(.notice, "the machine shuts down: apps are asked to end")
        core.shutDown { [unowned self] in
            log.say(.info, "no app is left: the shutdown may go on")
            logind?.goAhead()
        }
    }

    private func goOn() {
        log.say(.notice, "the machine does not shut down after all")
        core.cancelShutdown()
        logind?.holdShutdown()
    }
}
