internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Suspends instances: with cgroups by the kernel's freezer, without them by SIGSTOP, process by process.
@LoopActor
final class Freezer {
    private let core: Core
    private let instances: InstanceTable
    private let spawner: CurrentSpawner
    private let measurer: MemoryMeasurer

    private final class Stops: InstancePart {
        /// Whether it has stopped yet.
        var look: RepeatedLook?
        /// Orders to stop that the spawner has not carried out, without cgroups.
        var orderCount = 0
    }

    init(
        core: Core, instances: InstanceTable, spawner: CurrentSpawner, measurer: MemoryMeasurer
    ) {
        self.core = core
        self.instances = instances
        self.spawner = spawner
        self.measurer = measurer
    }

    func freeze(_ identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        guard let cgroup = instance.cgroup else {
            if let orphan = instance.orphan {
                orphan.signalGroup(SIGSTOP)
                return watchStop(of: instance)
            }
            // Stopped by its terminal, it would seem frozen before the spawner's order has come, which
            // would then hit it when it goes on already.
            guard spawner.send(.freeze(instance: identifier.rawValue)) else {
                return core.handle(.freezeFailed(identifier))
            }
            instances.part(Stops.self, of: identifier)?.orderCount += 1
            return
        }
        do throws(SystemError) {
            try cgroup.freeze()
        } catch {
            return core.handle(.freezeFailed(identifier))
        }
        watchFreeze(of: identifier) { (try? cgroup.isFrozen()) ?? false }
    }

    /// The spawner has carried out an order to stop: the last, or one that was taken back.
    func wasStopped(_ identifier: InstanceIdentifier) {
        guard let stops = instances.known(Stops.self, of: identifier), stops.orderCount > 0 else {
            return
        }
        stops.orderCount -= 1
        guard stops.orderCount == 0, let instance = instances[identifier],
            core.lifecycle.instance(identifier)?.state == .suspended
        else { return }
        watchStop(of: instance)
    }

    private func watchStop(of instance: Instance) {
        let pid = instance.pid
        watchFreeze(of: instance.identifier) { ProcessTable.entry(of: pid)?.isStopped ?? true }
    }

    private func watchFreeze(
        of identifier: InstanceIdentifier, _ isFrozen: @escaping () -> Bool
    ) {
        guard let stops = instances.part(Stops.self, of: identifier) else { return }
        stops.look = RepeatedLook(isFrozen) { [unowned self, unowned stops] in
            stops.look = nil
            core.handle(.frozen(identifier))
            // What it holds now, for status and for the order of reclaiming.
            measurer.measure([identifier])
        }
        stops.look?.look()
    }

    /// The spawner is gone, and with it every order that it had not carried out.
    func forgetOrders() {
        for (_, stops) in instances.all(Stops.self) { stops.orderCount = 0 }
    }

    func thaw(_ identifier: InstanceIdentifier) {
        instances.known(Stops.self, of: identifier)?.look = nil
        guard let instance = instances[identifier] else { return }
        if let cgroup = instance.cgroup {
            try? cgroup.thaw()
        } else if let orphan = instance.orphan {
            orphan.signalGroup(SIGCONT)
        } else {
            // The main process runs again when this returns, so that a stop ordered next is not
            // mistaken for this one; the spawner reaches the others.
            _ = instances.signal(SIGCONT, to: identifier)
            spawner.send(.thaw(instance: identifier.rawValue))
        }
    }
}
