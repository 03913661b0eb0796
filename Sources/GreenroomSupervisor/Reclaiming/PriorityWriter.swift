internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells the cpu and memory controllers what an instance is worth in its state, where there are any.
/// In a round of its own, after whoever launched has their answer.
@LoopActor
final class PriorityWriter {
    private unowned let instances: InstanceTable
    /// `CPUWeight=` of an app.
    private let weight: (AppIdentifier) -> Int
    private var wanted: [InstanceIdentifier: Priority] = [:]
    private var source: EventSource?
    /// Files that the instances' cgroups do not have.
    private var missing: Set<String> = []

    private static let instancesPerRound = 16
    private static let files = ["cpu.weight", "memory.low"]

    init(instances: InstanceTable, weight: @escaping (AppIdentifier) -> Int) {
        self.instances = instances
        self.weight = weight
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
            let weight = Self.weight(of: weight(instance.app), priority)
            write("\(weight)", to: "cpu.weight", of: cgroup)
            write(priority == .foreground ? "max" : "0", to: "memory.low", of: cgroup)
        }
        if !wanted.isEmpty { source?.isEnabled = true }
    }

    /// Whole in front, a quarter behind, and next to nothing for what is frozen: it matters only while
    /// it is thawed to be ended.
    static func weight(of own: Int, _ priority: Priority) -> Int {
        switch priority {
        case .foreground: own
        case .background, .prewarmed: max(1, own / 4)
        case .suspended: 1
        }
    }

    private func write(_ value: String, to file: String, of cgroup: Cgroup) {
        guard !missing.contains(file) else { return }
        do throws(SystemError) {
            try cgroup.write(file, value)
        } catch {
            // ENODEV: it has just ended.
            if error.name == "ENOENT" || error.name == "EACCES" { missing.insert(file) }
        }
    }
}
