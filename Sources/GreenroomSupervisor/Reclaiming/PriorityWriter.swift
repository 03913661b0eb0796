internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Tells the cpu and memory controllers, where there are any, what an instance is worth in its
/// state. It does so in a later round of the loop, after launches were answered. What a manifest
/// allows is never widened.
@LoopActor
final class PriorityWriter {
    private let instances: InstanceTable
    private let catalog: AppCatalog
    private let ends: MemoryEnds
    private let pressure: InstancePressure
    /// `BackgroundMemoryHigh=`; nil: no limit.
    var backgroundMemoryHigh: UInt64?
    /// Instances whose priority is to be written.
    private var queue: [InstanceIdentifier] = []
    private lazy var rounds = Rounds(priority: LoopPriority.afterLaunches) { [unowned self] in
        round()
    }
    /// Files that the instances' cgroups do not have.
    private var missing: Set<String> = []

    /// What the manifest says.
    struct Own: Equatable {
        var weight = 100
        var memoryHigh: UInt64?
    }

    private static let instancesPerRound = 16
    private static let files = ["cpu.weight", "memory.low", "memory.high"]

    private final class Wish: InstancePart {
        /// The priority that is not written yet; nil if none.
        var priority: Priority?
    }

    init(
        instances: InstanceTable, catalog: AppCatalog, ends: MemoryEnds, pressure: InstancePressure,
        backgroundMemoryHigh: UInt64?
    ) {
        self.instances = instances
        self.catalog = catalog
        self.ends = ends
        self.pressure = pressure
        self.backgroundMemoryHigh = backgroundMemoryHigh
    }

    func want(_ priority: Priority, for identifier: InstanceIdentifier) {
        guard missing.count < Self.files.count, instances[identifier]?.cgroup != nil,
            let wish = instances.part(Wish.self, of: identifier)
        else { return }
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
            guard let instance = instances[identifier], let cgroup = instance.cgroup else {
                continue
            }
            let own = Own(catalog[instance.app]?.restrictions.cgroupSettings ?? [])
            for (file, value) in Self.settings(own, priority, backgroundMemoryHigh) {
                write(value, to: file, of: cgroup, atMost: own.memoryHigh)
            }
            applied(priority, to: identifier, in: cgroup)
        }
        if !queue.isEmpty { try? rounds.ask() }
    }

    /// The instance is in this state now, and its limits are set.
    private func applied(
        _ priority: Priority, to identifier: InstanceIdentifier, in cgroup: Cgroup
    ) {
        if priority == .background || priority == .suspended { ends.lives(identifier, in: cgroup) }
        if priority == .foreground || priority == .background {
            pressure.runs(identifier, in: cgroup)
        } else {
            pressure.rests(identifier)
        }
    }

    /// In front, an instance has its whole weight, and its memory is taken last. In the background,
    /// it has a quarter of the weight, and no more memory than the configuration grants there.
    /// Frozen, it has next to no weight, because weight matters only while it is thawed to be
    /// ended.
    nonisolated static func settings(
        _ own: Own, _ priority: Priority, _ backgroundMemoryHigh: UInt64?
    ) -> [(file: String, value: String)] {
        let weight =
            switch priority {
            case .foreground: own.weight
            case .background, .prewarmed: max(1, own.weight / 4)
            case .suspended: 1
            }
        let limits = [own.memoryHigh, priority == .foreground ? nil : backgroundMemoryHigh]
        let high = limits.compactMap(\.self).min()
        var settings = [
            ("cpu.weight", "\(weight)"),
            ("memory.low", priority == .foreground ? "max" : "0"),
        ]
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
