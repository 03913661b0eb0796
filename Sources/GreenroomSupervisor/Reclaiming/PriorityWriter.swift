internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Tells the cpu and memory controllers what an instance is worth in its state, where there are any.
/// In a round of its own, after whoever launched has their answer. What a manifest allows is never
/// widened.
@LoopActor
final class PriorityWriter {
    private unowned let instances: InstanceTable
    /// `[Resources]` of an app.
    private let own: (AppIdentifier) -> Own
    /// `BackgroundMemoryHigh=`; nil: no limit.
    var backgroundMemoryHigh: UInt64?
    /// It is in this state now, and its limits are.
    var onApplied: ((Instance, Priority) -> Void)?
    private var wanted: [InstanceIdentifier: Priority] = [:]
    private var source: EventSource?
    /// Files that the instances' cgroups do not have.
    private var missing: Set<String> = []

    /// What a manifest says.
    struct Own: Equatable {
        var weight = 100
        var memoryHigh: UInt64?
    }

    private static let instancesPerRound = 16
    private static let files = ["cpu.weight", "memory.low", "memory.high"]

    init(instances: InstanceTable, own: @escaping (AppIdentifier) -> Own) {
        self.instances = instances
        self.own = own
    }

    func want(_ priority: Priority, for identifier: InstanceIdentifier) {
        guard missing.count < Self.files.count, instances[identifier]?.cgroup != nil else { return }
        wanted[identifier] = priority
        if source == nil {
            source = try? LoopActor.deferred(priority: 5) { [unowned self] in round() }
        } else {
            source?.isEnabled = true
        }
    }

    /// Another spawner may have other controllers.
    func controllersMayDiffer() { missing = [] }

    private func round() {
        for (identifier, priority) in wanted.prefix(Self.instancesPerRound) {
            wanted[identifier] = nil
            guard let instance = instances[identifier], let cgroup = instance.cgroup else {
                continue
            }
            let own = own(instance.app)
            for (file, value) in Self.settings(own, priority, backgroundMemoryHigh) {
                write(value, to: file, of: cgroup, atMost: own.memoryHigh)
            }
            onApplied?(instance, priority)
        }
        if !wanted.isEmpty { source?.isEnabled = true }
    }

    /// In front: its whole weight, and its memory is taken last. Behind: a quarter of the weight, and no
    /// more memory than the configuration grants there. Frozen: next to nothing, for it matters only
    /// while it is thawed to be ended.
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
        // A paused or frozen one allocates nothing.
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
            // ENODEV: it has just ended.
            if error.name == "ENOENT" || error.name == "EACCES" { missing.insert(file) }
        }
    }

    /// The kernel takes back what is above a lowered limit while the writer waits: then the limit is
    /// set a little above what is used, where what comes next meets it.
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

    /// Pages that each processor keeps ready.
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
