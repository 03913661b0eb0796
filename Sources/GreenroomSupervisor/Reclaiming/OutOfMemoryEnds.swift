internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells an end by the kernel's out-of-memory killer from another SIGKILL. With the memory
/// controller, the instance's own cgroup counts the kills. Without it, the machine's counter says
/// only that some process was killed since the last look.
@LoopActor
final class OutOfMemoryEnds {
    private let core: Core
    private let instances: InstanceTable
    private let machine: MachineCondition
    private var known: UInt64?

    private final class Survived: InstancePart {
        /// The kills in its cgroup that the instance has survived.
        var kills: OutOfMemoryKills?
    }

    init(core: Core, instances: InstanceTable, machine: MachineCondition) {
        self.core = core
        self.instances = instances
        self.machine = machine
        known = machineCount
    }

    /// Looks for the cause of an end before the core hears of the exit.
    func examine(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        let reason = core.lifecycle.instance(identifier)?.endReason
        // This reason was recorded when the channel was lost.
        if reason == .probablyOutOfMemory { known = machineCount }
        guard reason == nil, case .signaled(UInt8(SIGKILL), _) = status else { return }
        if look(identifier) == .guess { known = machineCount }
    }

    /// A paused instance's channel closes when the instance is killed, and the daemon hears of that
    /// before the exit.
    func examineLost(_ identifier: InstanceIdentifier) {
        guard let record = core.lifecycle.instance(identifier), record.state.isPrewarm
        else { return }
        look(identifier)
    }

    /// The instance is still alive, so an earlier out-of-memory kill in its cgroup did not end it.
    /// Called after the instance's state has changed. The kernel could report changes of
    /// memory.events, but it also does so whenever an app is throttled, which is too often.
    func survived(_ identifier: InstanceIdentifier, in cgroup: Cgroup) {
        guard let kills = OutOfMemoryKills(in: cgroup), kills.count > 0 else { return }
        instances.part(Survived.self, of: identifier)?.kills = kills
    }

    private enum Evidence { case proof, guess }

    @discardableResult
    private func look(_ identifier: InstanceIdentifier) -> Evidence {
        if let cgroup = instances[identifier]?.cgroup,
            let kills = OutOfMemoryKills(in: cgroup)?.since(
                instances.known(Survived.self, of: identifier)?.kills)
        {
            if kills.count > 0 {
                core.handle(
                    .outOfMemory(identifier, isCertain: true, isOwnLimit: kills.isOwnLimit))
            }
            return .proof
        }
        if let known, let count = machineCount, count > known {
            // Without the controller the instance has no limit of its own.
            core.handle(.outOfMemory(identifier, isCertain: false, isOwnLimit: false))
        }
        return .guess
    }

    private var machineCount: UInt64? {
        machine.text(of: "/proc/vmstat").flatMap(OutOfMemoryKills.count(vmstat:))
    }
}
