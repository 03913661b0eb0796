internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Follows the locks of users' sessions: tells the core, keeps them on record for the next
/// supervisor, and takes the credentials of apps away until the unlock.
@LoopActor
final class UserLocks {
    private let core: Core
    private let users: LockedUsers
    private let handover: CredentialHandover
    private let planning: WarmPlanning
    private let log: Log

    /// Tells the core of the locks that a former supervisor recorded: before anything is launched,
    /// because the core keeps events until their effects can be performed.
    init(
        core: Core, users: LockedUsers, handover: CredentialHandover, planning: WarmPlanning,
        log: Log
    ) {
        self.core = core
        self.users = users
        self.handover = handover
        self.planning = planning
        self.log = log
        for user in users.users { core.handle(.sessionLockChanged(user: user, isLocked: true)) }
    }

    /// After a restart, once the instances are known: a former supervisor may have ended before it had
    /// taken the credentials away.
    func withdrawCredentials() { for user in users.users { handover.becameLocked(user) } }

    func note(_ user: UInt32, isLocked: Bool) {
        core.handle(.sessionLockChanged(user: user, isLocked: isLocked))
        do throws(SystemError) { try users.note(user, isLocked: isLocked) } catch {
            log.say(.error, "recording which users are locked: \(error)")
        }
        if isLocked { return handover.becameLocked(user) }
        handover.becameUnlocked(user)
        planning.review()
    }
}

/// The users whose login sessions are locked, kept for the next supervisor: user numbers in a file
/// of the runtime directory, which does not outlive the boot.
struct LockedUsers {
    private let path: String

    init(runtimeDirectory: String) { path = runtimeDirectory + "/locked" }

    var users: Set<UInt32> {
        let text = (try? SmallFile.text(of: path)) ?? ""
        return Set(text.split(separator: "\n").compactMap { UInt32($0) })
    }

    func note(_ user: UInt32, isLocked: Bool) throws(SystemError) {
        var users = users
        let isNew = isLocked ? users.insert(user).inserted : users.remove(user) != nil
        guard isNew else { return }
        let text = users.sorted().map { "\($0)\n" }.joined()
        try SmallFile.replace(path, with: text, mode: 0o600)
    }
}
