internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The machine's own life, as events of the core: users come and go, screens are locked, the machine
/// sleeps and shuts down. Whatever of systemd-logind is missing is said once and not followed.
@LoopActor
final class MachineEvents {
    private let core: Core
    private let catalog: AppCatalog
    private let installer: AppInstaller
    private let locks: SessionLocks
    private let log: Log

    private var logins: Logins?
    private var logind: Logind?
    private var isLeaving = false
    private var isConnected = false
    private var users: Set<UInt32> = []
    private var surroundings: [UInt32: SessionEnvironment.Surroundings] = [:]

    init(
        core: Core, catalog: AppCatalog, installer: AppInstaller, locks: SessionLocks, log: Log
    ) {
        self.core = core
        self.catalog = catalog
        self.installer = installer
        self.locks = locks
        self.log = log
    }

    /// Those that are logged in already; before `Event.restored`.
    func begin() {
        do throws(SystemdError) {
            logins = try Logins { [unowned self] in usersChanged() }
        } catch {
            log.sayOnce("no systemd-logind (\(error)): logins are not followed")
        }
        users = Logins.users
        for user in users.sorted() { core.handle(.loggedIn(foregroundGroup: group(user))) }
        for user in owners { surroundings[user] = .init(ofUser: user) }
    }

    /// Once the daemon serves: a bus that is slow to answer holds up nobody.
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

    private func group(_ user: UInt32) -> String { AppDescription.sessionGroup(ofUser: user) }

    /// Whose apps there are. The daemon's own user is where it is.
    private var owners: Set<UInt32> {
        Set(catalog.unsortedApps.filter(\.changesUser).map(\.account.user))
    }

    private func usersChanged() {
        let now = Logins.users
        let (came, went) = (now.subtracting(users), users.subtracting(now))
        users = now
        // First what their apps are to see, then the reason to start them.
        reviewSurroundings()
        for user in came.sorted() { core.handle(.loggedIn(foregroundGroup: group(user))) }
        for user in went.sorted() { core.handle(.loggedOut(foregroundGroup: group(user))) }
        if !isConnected, !came.isEmpty { connect() }
    }

    private func reviewSurroundings() {
        var latest: [UInt32: SessionEnvironment.Surroundings] = [:]
        for user in owners { latest[user] = .init(ofUser: user) }
        guard latest != surroundings else { return }
        surroundings = latest
        // A user's runtime directory or bus came or went: environments are made anew.
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
        case .shutdownChanged(let isShuttingDown):
            // A daemon that stops by itself ends the apps for good.
            guard !isLeaving else { return }
            isShuttingDown ? shutDown() : goOn()
        case .failed(let reason): log.sayOnce(reason)
        case .disconnected:
            log.say(.notice, "the system bus is gone; it is looked for at the next login")
            isConnected = false
        }
    }

    /// The daemon stops: from now on it is not the machine's life that decides about the apps.
    func leave() { isLeaving = true }

    /// The apps end in peace: logind waits until they have, as long as it is configured to.
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
