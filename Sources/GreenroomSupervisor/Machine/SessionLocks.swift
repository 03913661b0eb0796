internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The sessions of users are locked and unlocked: the core hears of it, another supervisor will know it, and
/// whoever was launched meanwhile gets what was kept from them.
@LoopActor
final class SessionLocks {
    private let core: Core
    private let users: LockedUsers
    private let handover: CredentialHandover
    private let log: Log

    init(core: Core, users: LockedUsers, handover: CredentialHandover, log: Log) {
        self.core = core
        self.users = users
        self.handover = handover
        self.log = log
    }

    /// After a restart: those that a former supervisor knew, before anything is launched.
    func restore() {
        for user in users.users { core.handle(.sessionLockChanged(user: user, isLocked: true)) }
    }

    func note(_ user: UInt32, isLocked: Bool) {
        core.handle(.sessionLockChanged(user: user, isLocked: isLocked))
        do throws(SystemError) { try users.note(user, isLocked: isLocked) } catch {
            log.say(.error, "remembering who is locked: \(error)")
        }
        if !isLocked { handover.becameUnlocked(user) }
    }
}
