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

    init(supervisor: Supervisor, machine: MachineCondition) {
        self.supervisor = supervisor
        self.machine = machine
        known = machineCount
    }

    /// Before the core hears of an exit.
    func examine(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        let ordered = supervisor.lifecycle.instance(identifier)?.endReason
        // A paused one's channel closes as it is killed, and shows as a failed prewarm before.
        guard case .signaled(UInt8(SIGKILL), _) = status,
            ordered == nil || ordered == .prewarmFailed
        else { return }
        if let cgroup = supervisor.instances[identifier]?.cgroup,
            let kills = OutOfMemoryKills(in: cgroup)
        {
            guard kills.count > 0 else { return }
            return supervisor.handle(
                .outOfMemory(
                    identifier, isCertain: true, isOwnLimit: kills.isOwnLimit))
        }
        guard ordered == nil else { return }
        let count = machineCount
        defer { known = count }
        guard let known, let count, count > known else { return }
        // Without the controller it has no limit of its own.
        supervisor.handle(.outOfMemory(identifier, isCertain: false, isOwnLimit: false))
    }

    private var machineCount: UInt64? {
        machine.text(of: "/proc/vmstat").flatMap(OutOfMemoryKills.count(vmstat:))
    }
}
