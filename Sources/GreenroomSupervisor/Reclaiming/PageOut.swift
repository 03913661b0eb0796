internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Moves the memory of suspended instances back to its files or to swap, so that the instances need
/// not be ended to free it. The kernel works while its caller waits, so it is asked for a little at
/// a time. With the memory controller, a cgroup's memory is reclaimed in rounds of the loop that
/// come after all others, in smaller pieces after a slow one. Without it, the memory of one process
/// after another is paged out by another process (``DetachedCalls``), because looking into a
/// process may take any time.
@LoopActor
final class PageOut {
    private let core: Core
    private let instances: InstanceTable
    private let measurer: MemoryMeasurer
    private let log: Log
    /// `PageOutSuspended=`.
    private var mode: DaemonConfiguration.PageOut
    private let machine: MachineCondition
    private let calls: DetachedCalls
    private var queue: [InstanceIdentifier] = []
    private var job: Job?
    private lazy var rounds = Rounds(priority: LoopPriority.pagingOut) { [unowned self] in round() }
    private var chunk = chunkLimit

    private static let chunkLimit: UInt64 = 1 << 20
    private static let smallestChunk: UInt64 = 64 << 10
    /// A round that takes longer than this keeps others waiting.
    private static let patience: Duration = .milliseconds(2)

    /// The work on one instance.
    @LoopActor
    private final class Job {
        let instance: Instance
        let before: UInt64
        /// How many bytes the kernel was asked for so far.
        var asked: UInt64 = 0
        /// The instance's cgroup, with the memory controller; nil if the work goes process by
        /// process.
        let cgroup: Cgroup?
        var processes: [Int32] = []
        /// The process that is being paged out, and the ranges that are left of it.
        var process: ProcessDescriptor?
        var ranges: [Range<UInt>] = []
        /// Whether another process is working on a call.
        var isAway = false

        init(_ instance: Instance, in cgroup: Cgroup, before: UInt64) {
            self.instance = instance
            self.cgroup = cgroup
            self.before = before
        }

        init(_ instance: Instance) {
            self.instance = instance
            cgroup = nil
            processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
            before = instance.residentByteCount
        }

        var after: UInt64 {
            cgroup?.memoryByteCount ?? instance.residentByteCount
        }

        /// The next bytes, at most this many.
        func take(_ byteCount: UInt) -> Range<UInt>? {
            guard let range = ranges.popLast() else { return nil }
            let end = min(range.upperBound, range.lowerBound + byteCount)
            if end < range.upperBound { ranges.append(end..<range.upperBound) }
            return range.lowerBound..<end
        }
    }

    init(
        core: Core, instances: InstanceTable, measurer: MemoryMeasurer, calls: DetachedCalls,
        log: Log, machine: MachineCondition, _ configuration: DaemonConfiguration
    ) {
        self.core = core
        self.instances = instances
        self.measurer = measurer
        self.log = log
        self.machine = machine
        self.calls = calls
        mode = configuration.pageOutSuspended
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) { mode = configuration.pageOutSuspended }

    /// Without swap, only pages that come from files can go, and they have to be read again.
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
        try? rounds.ask()
    }

    private func round() {
        if job == nil { job = nextJob() }
        if let job, !job.isAway { goOn(job) }
        if job?.isAway != true, job != nil || !queue.isEmpty { try? rounds.ask() }
    }

    private func nextJob() -> Job? {
        guard !queue.isEmpty else { return nil }
        let identifier = queue.removeFirst()
        guard let instance = instances[identifier], isSuspended(identifier) else {
            return nil
        }
        if let cgroup = instance.cgroup, let before = cgroup.memoryByteCount {
            return Job(instance, in: cgroup, before: before)
        }
        return Job(instance)
    }

    private func isSuspended(_ identifier: InstanceIdentifier) -> Bool {
        core.lifecycle.instance(identifier)?.state == .suspended
    }

    private func goOn(_ job: Job) {
        guard isSuspended(job.instance.identifier) else { return finish(job) }
        guard let cgroup = job.cgroup else { return goOnElsewhere(job) }
        if job.asked >= job.before || !step(job, cgroup) { finish(job) }
    }

    /// - Returns: whether there may be more to reclaim.
    private func step(_ job: Job, _ cgroup: Cgroup) -> Bool {
        let start = core.now
        let isMore: Bool
        do throws(SystemError) { isMore = try cgroup.reclaim(byteCount: chunk) } catch {
            isMore = failed(error)
        }
        job.asked += chunk
        let isSlow = start.duration(to: core.now) > Self.patience
        chunk = isSlow ? max(chunk / 2, Self.smallestChunk) : min(chunk * 2, Self.chunkLimit)
        return isMore
    }

    // MARK: Process by process

    private func goOnElsewhere(_ job: Job) {
        if let process = job.process, let range = job.take(UInt(Self.chunkLimit)) {
            return send(job, .pageOut(process, range)) { [unowned self] result in
                let code = result.code(0)
                // Memory that is locked, or that belongs to a device, stays.
                guard code != 0, code != EINVAL, code != ENOMEM else { return true }
                return failed(SystemError(code: code, call: "process_madvise"))
            }
        }
        // The descriptor is opened first. What is then read by the number belongs to the same
        // process, or the kernel refuses the descriptor.
        guard let pid = job.processes.popLast() else { return finish(job) }
        job.process = try? ProcessDescriptor(pid: pid)
        send(job, .read("/proc/\(pid)/maps", limit: MappedFiles.byteLimit)) { result in
            job.ranges = result.bytes(0).map { PageableMemory.ranges(in: $0) } ?? []
            return true
        }
    }

    /// - Parameter isMore: whether to go on after the result.
    private func send(
        _ job: Job, _ call: DetachedJob.Call, _ isMore: @escaping (DetachedJob) -> Bool
    ) {
        let user = core.lifecycle.description(of: job.instance.app)?.user ?? .max
        job.isAway = true
        calls.make(DetachedJob([call]), for: job.instance.app, of: user) { [unowned self] result in
            job.isAway = false
            if result.map(isMore) != true { finish(job) }
            try? rounds.ask()
        }
    }

    private func failed(_ error: SystemError) -> Bool {
        // With ENODEV or ESRCH, the instance is gone.
        if error.name != "ENODEV", error.name != "ESRCH" {
            log.sayOnce(
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
        guard instances[identifier] != nil else { return }
        let after = job.after
        core.handle(
            .pagedOut(identifier, byteCount: job.before > after ? job.before - after : 0))
        measurer.measure([identifier])
    }
}
