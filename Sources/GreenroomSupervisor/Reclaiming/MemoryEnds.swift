internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells an end by the kernel's out-of-memory killer from another SIGKILL. With the memory controller
/// the instance's own cgroup counts them; without, the machine's counter says only that somebody was
/// taken since the last look.
@LoopActor
final class MemoryEnds {
    private let core: Core
    private let instances: InstanceTable
    private let machine: MachineCondition
    private var known: UInt64?

    private final class Survived: InstancePart {
        /// What the kernel had ended of it when it went on all the same.
        var kills: OutOfMemoryKills?
    }

    init(core: Core, instances: InstanceTable, machine: MachineCondition) {
        self.core = core
        self.instances = instances
        self.machine = machine
        known = machineCount
    }

    /// Before the core hears of an exit.
    func examine(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        switch core.lifecycle.instance(identifier)?.endReason {
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
        guard let record = core.lifecycle.instance(identifier), record.state.isPrewarm
        else { return }
        look(identifier)
    }

    /// It lives. What the kernel has ended of it by now will not be what ends it. Asked after changes of
    /// its state: the file says something whenever an app is throttled, too often to be listened to.
    func lives(_ identifier: InstanceIdentifier, in cgroup: Cgroup) {
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
            // Without the controller it has no limit of its own.
            core.handle(.outOfMemory(identifier, isCertain: false, isOwnLimit: false))
        }
        return .guess
    }

    private var machineCount: UInt64? {
        machine.text(of: "/proc/vmstat").flatMap(OutOfMemoryKills.count(vmstat:))
    }
}
