internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells an end by the kernel's out-of-memory killer from another SIGKILL. With the memory controller
/// the instance's own cgroup counts them; without, the machine's counter says only that somebody was
/// taken since the last look.
@LoopActor
final class MemoryEnds {
    unowned let supervisor: Supervisor
    private let machine: MachineCondition
    private var known: UInt64?
    /// What the kernel had ended of instances that went on without it.
    private var survived: [InstanceIdentifier: OutOfMemoryKills] = [:]

    init(supervisor: Supervisor, machine: MachineCondition) {
        self.supervisor = supervisor
        self.machine = machine
        known = machineCount
    }

    /// Before the core hears of an exit.
    func examine(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        defer { survived[identifier] = nil }
        switch supervisor.lifecycle.instance(identifier)?.endReason {
        case nil:
            guard case .signaled(UInt8(SIGKILL), _) = status else { return }
            if look(identifier) == .guess { known = machineCount }
        // Said when its channel was lost.
        case .probablyOutOfMemory?: known = machineCount
        case _: break
        }
    }

    /// A paused instance's channel closes as it is killed, and is heard of before its end.
    func examineLost(_ identifier: InstanceIdentifier) {
        guard let record = supervisor.lifecycle.instance(identifier), record.state.isPrewarm
        else { return }
        look(identifier)
    }

    /// It lives. What the kernel has ended of it by now will not be what ends it. Asked after changes of
    /// its state: the file says something whenever an app is throttled, too often to be listened to.
    func lives(_ identifier: InstanceIdentifier, in cgroup: Cgroup) {
        guard let kills = OutOfMemoryKills(in: cgroup), kills.count > 0 else { return }
        survived[identifier] = kills
    }

    private enum Evidence { case proof, guess }

    @discardableResult
    private func look(_ identifier: InstanceIdentifier) -> Evidence {
        if let cgroup = supervisor.instances[identifier]?.cgroup,
            let kills = OutOfMemoryKills(in: cgroup)?.since(survived[identifier])
        {
            if kills.count > 0 {
                supervisor.handle(
                    .outOfMemory(identifier, isCertain: true, isOwnLimit: kills.isOwnLimit))
            }
            return .proof
        }
        if let known, let count = machineCount, count > known {
            // Without the controller it has no limit of its own.
            supervisor.handle(.outOfMemory(identifier, isCertain: false, isOwnLimit: false))
        }
        return .guess
    }

    private var machineCount: UInt64? {
        machine.text(of: "/proc/vmstat").flatMap(OutOfMemoryKills.count(vmstat:))
    }
}
