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
        guard case .signaled(UInt8(SIGKILL), _) = status,
            supervisor.lifecycle.instance(identifier)?.endReason == nil
        else { return }
        if let cgroup = supervisor.instances[identifier]?.cgroup,
            let count = OutOfMemoryKills.count(in: cgroup)
        {
            if count > 0 { supervisor.handle(.outOfMemory(identifier, isCertain: true)) }
            return
        }
        let count = machineCount
        defer { known = count }
        guard let known, let count, count > known else { return }
        supervisor.handle(.outOfMemory(identifier, isCertain: false))
    }

    private var machineCount: UInt64? {
        machine.text(of: "/proc/vmstat").flatMap(OutOfMemoryKills.count(vmstat:))
    }
}
