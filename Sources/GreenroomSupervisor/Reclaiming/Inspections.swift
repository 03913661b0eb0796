internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What the core asks about the machine, and about the file locks of its instances. `Warming` and
/// `FileLocks` of the core decide what follows.
@LoopActor
final class Inspections {
    private let core: Core
    private let instances: InstanceTable
    private let conditions: ConditionInspector
    private let measurer: MemoryMeasurer
    private let calls: DetachedCalls
    private lazy var inspection = Rounds(priority: LoopPriority.afterLaunches) { [unowned self] in
        measurer.refreshPrewarmed()
        core.handle(.conditionsInspected(conditions.obstacle))
    }

    init(
        core: Core, instances: InstanceTable, conditions: ConditionInspector,
        measurer: MemoryMeasurer, calls: DetachedCalls
    ) {
        self.core = core
        self.instances = instances
        self.conditions = conditions
        self.measurer = measurer
        self.calls = calls
    }

    /// Inspects the conditions in a later round of the loop, after launches have been answered.
    func inspectConditions() {
        try? inspection.ask()
    }

    func inspectFileLocks(of identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        let processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
        let report = { [unowned self] (holdsLock: Bool) in
            core.handle(.fileLocksInspected(identifier, holdsLock: holdsLock))
        }
        if let answer = try? ProcLocks.areHeld(by: processes) { return report(answer) }
        let names = ProcLocks.descriptors(of: processes)
        let job = DetachedJob(names.map { .read($0, limit: ProcLocks.descriptorByteLimit) })
        let user = core.lifecycle.description(of: instance.app)?.user ?? .max
        calls.make(job, for: instance.app, of: user) { job in
            // An app that keeps the look waiting is treated like one that holds a lock.
            guard let job else { return report(true) }
            let texts = names.indices.lazy.compactMap { job.bytes($0) }
            report(texts.contains { ProcLocks.isHeld(by: processes, $0) })
        }
    }

    /// Why nothing is prewarmed automatically now, for people to read. The machine is looked at
    /// again.
    var obstacles: [Control.Note] {
        var notes = conditions.notes
        if core.now < core.lifecycle.prewarmingStarts {
            notes.append(
                Control.Note(
                    code: "start_delay",
                    text:
                        "the machine has just started; PrewarmStartDelaySec= holds prewarming back")
            )
        }
        return notes
    }
}
