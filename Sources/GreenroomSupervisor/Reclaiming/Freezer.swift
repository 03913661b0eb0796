internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Suspends instances: by the kernel's freezer where there are cgroups, otherwise by SIGSTOP,
/// process by process. Stops the threads of paused instances, where there are cgroups.
@LoopActor
final class Freezer {
    private let core: Core
    private let instances: InstanceTable
    private let spawner: CurrentSpawner
    private let measurer: MemoryMeasurer

    private final class Stops: InstancePart {
        /// Checks again and again whether the instance has stopped.
        var look: RepeatedLook?
        /// How many orders to stop the spawner has not carried out; used only without cgroups.
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
            // Nothing is watched until the spawner has carried out the order. An instance that a
            // terminal has stopped would seem frozen too early. If it were thawed then, the order
            // could still be under way, and would stop it again.
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

    /// Stops the other threads of a paused instance. Without a cgroup, SIGSTOP would do so, but the
    /// instance would notice.
    func freezePaused(_ identifier: InstanceIdentifier) {
        guard let cgroup = instances[identifier]?.cgroup, (try? cgroup.freeze()) != nil else {
            return core.handle(.freezeFailed(identifier))
        }
        watchFreeze(of: identifier) { (try? cgroup.isFrozen()) ?? false }
    }

    /// The spawner has carried out an order to stop: the latest one, or one that was withdrawn.
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
        stops.look = RepeatedLook(until: isFrozen) { [unowned self, unowned stops] in
            stops.look = nil
            core.handle(.frozen(identifier))
            measurer.measureSuspended(identifier)
        }
        stops.look?.look()
    }

    /// The spawner is gone, and every order that it had not carried out is lost.
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
            // The main process runs again when this call returns, so its stop is not mistaken for
            // the result of the next order to stop. The spawner reaches the other processes.
            _ = instances.signal(SIGCONT, to: identifier)
            spawner.send(.thaw(instance: identifier.rawValue))
        }
    }
}
