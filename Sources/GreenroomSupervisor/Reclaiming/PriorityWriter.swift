internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner
internal import Systemd

/// Tells the cpu and memory controllers, where there are any, what an instance is worth in its
/// state. It does so in a later round of the loop, after launches were answered. What a manifest
/// allows is never widened.
///
/// An instance that is prepared while nobody waits for it is *held back*: it runs only where a
/// processor would be idle. The means is the first of these that is available and can be undone:
///   `cpu.idle` of its cgroup        the cpu controller, and Linux 5.15
///   the least `cpu.weight`          the cpu controller
///   SCHED_IDLE                      CAP_SYS_NICE
/// The instance is let go in the same turn of the loop in which somebody begins to wait for it, or
/// in which it has paused. So a launch runs as a direct start would.
@LoopActor
final class PriorityWriter {
    private let instances: InstanceTable
    private let catalog: AppCatalog
    private let ends: OutOfMemoryEnds
    private let pressure: InstancePressure
    /// `BackgroundMemoryHigh=`; nil if there is no limit.
    private var backgroundMemoryHigh: UInt64?
    /// Instances whose priority is to be written.
    private var queue: [InstanceIdentifier] = []
    private lazy var rounds = Rounds(priority: LoopPriority.afterLaunches) { [unowned self] in
        round()
    }
    /// Files that the instances' cgroups do not have.
    private var missing: Set<String> = []

    /// The settings of the app's manifest.
    struct Own: Equatable {
        var weight = 100
        var memoryHigh: UInt64?
    }

    private static let instancesPerRound = 16
    private static let files = ["cpu.weight", "memory.low", "memory.high"]

    private final class Wish: InstancePart {
        /// The priority that is not written yet; nil if none.
        var priority: Priority?
        /// How the instance is held back; nil if it is not.
        var restraint: Restraint?
        /// Whether the instance was looked at. A former supervisor may have held it back.
        var isKnown = false
    }

    private enum Restraint {
        case idleCgroup
        case leastWeight
        case idlePolicy
    }

    private lazy var mayEndIdlePolicy = IdleScheduling.mayBeEnded()

    init(
        instances: InstanceTable, catalog: AppCatalog, ends: OutOfMemoryEnds,
        pressure: InstancePressure,
        _ configuration: DaemonConfiguration
    ) {
        self.instances = instances
        self.catalog = catalog
        self.ends = ends
        self.pressure = pressure
        backgroundMemoryHigh = configuration.backgroundMemoryHigh
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) {
        backgroundMemoryHigh = configuration.backgroundMemoryHigh
    }

    func want(_ priority: Priority, for identifier: InstanceIdentifier) {
        guard let instance = instances[identifier],
            let wish = instances.part(Wish.self, of: identifier)
        else { return }
        if !wish.isKnown, priority == .preparing || priority == .prewarmed {
            wish.restraint = restraint(of: instance)
        }
        wish.isKnown = true
        if priority != .preparing { letGo(instance, wish) }
        let hasFiles = missing.count < Self.files.count && instance.cgroup != nil
        guard hasFiles || priority == .preparing else { return wish.priority = nil }
        if wish.priority == nil { queue.append(identifier) }
        wish.priority = priority
        try? rounds.ask()
    }

    /// Another spawner may have other controllers.
    func controllersMayDiffer() { missing = [] }

    private func round() {
        let round = queue.prefix(Self.instancesPerRound)
        queue.removeFirst(round.count)
        for identifier in round {
            guard let wish = instances.known(Wish.self, of: identifier),
                let priority = wish.priority
            else { continue }
            wish.priority = nil
            guard let instance = instances[identifier] else { continue }
            if priority == .preparing { holdBack(instance, wish) }
            guard let cgroup = instance.cgroup else { continue }
            let own = own(of: instance)
            for (file, value) in Self.settings(own, priority, backgroundMemoryHigh) {
                write(value, to: file, of: cgroup, atMost: own.memoryHigh)
            }
            applied(priority, to: identifier, in: cgroup)
        }
        if !queue.isEmpty { try? rounds.ask() }
    }

    private func own(of instance: Instance) -> Own {
        Own(catalog[instance.app]?.restrictions.cgroupSettings ?? [])
    }

    // MARK: Holding back

    private func holdBack(_ instance: Instance, _ wish: Wish) {
        guard wish.restraint == nil, instance.isAlive else { return }
        if let cgroup = instance.cgroup {
            if (try? cgroup.write("cpu.idle", "1")) != nil { return wish.restraint = .idleCgroup }
            if (try? cgroup.write("cpu.weight", "1")) != nil {
                return wish.restraint = .leastWeight
            }
        }
        if mayEndIdlePolicy, IdleScheduling.begin(instance.pid) { wish.restraint = .idlePolicy }
    }

    private func letGo(_ instance: Instance, _ wish: Wish) {
        guard let restraint = wish.restraint else { return }
        wish.restraint = nil
        switch restraint {
        case .idleCgroup, .leastWeight:
            // The weight of a cgroup that was idle is the default one.
            if restraint == .idleCgroup { try? instance.cgroup?.write("cpu.idle", "0") }
            let weight = own(of: instance).weight
            if restraint == .leastWeight || weight != Own().weight {
                try? instance.cgroup?.write("cpu.weight", "\(weight)")
            }
        case .idlePolicy:
            for process in (try? instance.cgroup?.processes()) ?? [instance.pid] {
                IdleScheduling.end(process)
            }
        }
    }

    /// How a former supervisor has held the instance back.
    private func restraint(of instance: Instance) -> Restraint? {
        if let cgroup = instance.cgroup {
            if (try? cgroup.read("cpu.idle")) == "1\n" { return .idleCgroup }
            if (try? cgroup.read("cpu.weight")) == "1\n", own(of: instance).weight != 1 {
                return .leastWeight
            }
        }
        return mayEndIdlePolicy && IdleScheduling.isIdle(instance.pid) ? .idlePolicy : nil
    }

    // MARK: Writing

    /// The instance is in this state now, and its limits are set.
    private func applied(
        _ priority: Priority, to identifier: InstanceIdentifier, in cgroup: Cgroup
    ) {
        if priority == .background || priority == .suspended {
            ends.survived(identifier, in: cgroup)
        }
        if priority == .foreground || priority == .background {
            pressure.watch(identifier, in: cgroup)
        } else {
            pressure.unwatch(identifier)
        }
    }

    /// In front, an instance has its whole weight, and its memory is taken last. In the background,
    /// it has a quarter of the weight, and no more memory than the configuration grants there.
    /// Frozen, it has next to no weight, because weight matters only while it is thawed to be
    /// ended. Paused, it has its whole weight, so that its launch has it from the beginning.
    nonisolated static func settings(
        _ own: Own, _ priority: Priority, _ backgroundMemoryHigh: UInt64?
    ) -> [(file: String, value: String)] {
        let weight: Int? =
            switch priority {
            case .foreground, .prewarmed: own.weight
            case .background: max(1, own.weight / 4)
            case .suspended: 1
            case .preparing: nil
            }
        let limits = [own.memoryHigh, priority == .foreground ? nil : backgroundMemoryHigh]
        let high = limits.compactMap(\.self).min()
        var settings = weight.map { [("cpu.weight", "\($0)")] } ?? []
        settings.append(("memory.low", priority == .foreground ? "max" : "0"))
        // A paused or frozen instance allocates nothing.
        if priority == .foreground || priority == .background {
            settings.append(("memory.high", high.map { $0 == .max ? "max" : "\($0)" } ?? "max"))
        }
        return settings
    }

    private func write(
        _ value: String, to file: String, of cgroup: Cgroup, atMost ceiling: UInt64?
    ) {
        guard !missing.contains(file) else { return }
        do throws(SystemError) {
            if file == "memory.high" { return try limit(cgroup, to: value, ceiling) }
            try cgroup.write(file, value)
        } catch {
            // With ENODEV, the instance has just ended.
            if error.name == "ENOENT" || error.name == "EACCES" { missing.insert(file) }
        }
    }

    /// When a limit is lowered, the kernel reclaims what is above it while the writer waits. So the
    /// limit is set a little above what is used, and the next allocations meet it.
    private func limit(
        _ cgroup: Cgroup, to value: String, _ ceiling: UInt64?
    ) throws(SystemError) {
        let text = try cgroup.read("memory.high")
        guard !text.hasPrefix(value + "\n") else { return }
        guard let wanted = UInt64(value), let used = cgroup.memoryByteCount, used > wanted else {
            return try cgroup.write("memory.high", value)
        }
        let reached = min(used + Self.headroom, ceiling ?? .max)
        guard !text.hasPrefix("\(reached)\n") else { return }
        try cgroup.write("memory.high", "\(reached)")
    }

    /// Room for the pages that each processor keeps ready, in bytes.
    private static let headroom: UInt64 = 1 << 20
}

extension PriorityWriter.Own {
    init(_ settings: [SpawnSpecification.CgroupSetting]) {
        for setting in settings {
            switch setting.file {
            case "cpu.weight": weight = Int(setting.value) ?? weight
            case "memory.high": memoryHigh = UInt64(setting.value)
            default: break
            }
        }
    }
}
