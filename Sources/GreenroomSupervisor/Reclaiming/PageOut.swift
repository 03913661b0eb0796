internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Takes what suspended instances hold out of memory, back to its files or to swap, so that they need not
/// be ended for it. The kernel works while we wait, so it is given a bit at a time, in rounds of the
/// loop behind all others, and less when it was slow.
@LoopActor
final class PageOut {
    unowned let supervisor: Supervisor
    /// `PageOutSuspended=`.
    var mode: DaemonConfiguration.PageOut
    private let machine: MachineCondition
    private var queue: [InstanceIdentifier] = []
    private var job: Job?
    private var source: EventSource?
    private var chunk = chunkLimit

    private static let chunkLimit: UInt64 = 1 << 20
    private static let smallestChunk: UInt64 = 64 << 10
    /// A round that takes longer than this keeps others waiting.
    private static let patience: Duration = .milliseconds(2)
    /// Behind everything.
    private static let priority: Int64 = 20

    /// What is being done about one instance.
    @LoopActor
    private final class Job {
        let instance: Instance
        let before: UInt64
        /// Asked of the kernel so far.
        var asked: UInt64 = 0
        /// Where there is the memory controller, its cgroup; else process by process.
        let cgroup: Cgroup?
        var processes: [Int32] = []
        var current: PagingOut?

        init(_ instance: Instance, in cgroup: Cgroup, before: UInt64) {
            self.instance = instance
            self.cgroup = cgroup
            self.before = before
        }

        init(_ instance: Instance) {
            self.instance = instance
            cgroup = nil
            processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
            before = MemoryMeasurer.byteCount(of: instance)
        }

        /// The next so many bytes.
        /// - Returns: whether there may be more.
        func ask(_ byteCount: UInt64) throws(SystemError) -> Bool {
            if let cgroup { return try cgroup.reclaim(byteCount: byteCount) }
            if current == nil {
                guard let pid = processes.popLast() else { return false }
                current = try PagingOut(pid: pid)
            }
            if try current?.step(byteCount: UInt(byteCount)) != true { current = nil }
            return current != nil || !processes.isEmpty
        }
    }

    init(supervisor: Supervisor, machine: MachineCondition, _ mode: DaemonConfiguration.PageOut) {
        self.supervisor = supervisor
        self.machine = machine
        self.mode = mode
    }

    /// Without swap only what comes from files can go, and has to be read again.
    private var helps: Bool {
        switch mode {
        case .no: false
        case .yes: true
        case .auto: machine.memory.map { $0.swapTotal > 0 } ?? false
        }
    }

    func begin(_ identifier: InstanceIdentifier) {
        guard helps, !queue.contains(identifier) else { return }
        queue.append(identifier)
        if let source { return source.isEnabled = true }
        source = try? LoopActor.deferred(priority: Self.priority) { [unowned self] in round() }
    }

    private func round() {
        if job == nil { job = nextJob() }
        if let job, step(job) { finish(job) }
        if job != nil || !queue.isEmpty { source?.isEnabled = true }
    }

    private func nextJob() -> Job? {
        guard !queue.isEmpty else { return nil }
        let identifier = queue.removeFirst()
        guard let instance = supervisor.instances[identifier], isSuspended(identifier) else {
            return nil
        }
        if let cgroup = instance.cgroup, let before = cgroup.memoryByteCount {
            return Job(instance, in: cgroup, before: before)
        }
        return Job(instance)
    }

    private func isSuspended(_ identifier: InstanceIdentifier) -> Bool {
        supervisor.lifecycle.instance(identifier)?.state == .suspended
    }

    /// - Returns: true if that was the last.
    private func step(_ job: Job) -> Bool {
        // What is mapped is far more than what is resident.
        guard isSuspended(job.instance.identifier), job.cgroup == nil || job.asked < job.before
        else { return true }
        let start = supervisor.now
        let isMore: Bool
        do throws(SystemError) { isMore = try job.ask(chunk) } catch { isMore = failed(error) }
        job.asked += chunk
        let isSlow = start.duration(to: supervisor.now) > Self.patience
        chunk = isSlow ? max(chunk / 2, Self.smallestChunk) : min(chunk * 2, Self.chunkLimit)
        return !isMore
    }

    private func failed(_ error: SystemError) -> Bool {
        // It is gone.
        if error.name != "ENODEV", error.name != "ESRCH" {
            supervisor.reporter.sayOnce(
                "suspended apps stay in memory: \(error)"
                    + (error.name == "EPERM"
                        ? " (without the memory controller it takes "
                            + "CAP_SYS_NICE)" : ""))
        }
        return false
    }

    private func finish(_ job: Job) {
        self.job = nil
        let identifier = job.instance.identifier
        guard supervisor.instances[identifier] != nil else { return }
        let after =
            job.instance.cgroup?.memoryByteCount ?? MemoryMeasurer.byteCount(of: job.instance)
        supervisor.handle(
            .pagedOut(identifier, byteCount: job.before > after ? job.before - after : 0))
        supervisor.reclaimer.measurer.measure([identifier])
    }
}
