internal import CSystemd
import Glibc
import Synchronization

/// One thread, one `sd_event` (sd-event(3)).
///
/// It is the serial executor of ``LoopActor`` and, through ``taskExecutor``, the preferred executor
/// of the tasks that ``LoopActor`` starts, so that neither callbacks nor `async` code ever leaves
/// the thread that called ``run()``.
///
/// Two kinds of job arrive here and each must be run the way it came: one from the actor by
/// `runSynchronously(on:)`, one from a task's preference by `runSynchronously(isolatedTo:taskExecutor:)`.
/// Mixing them up is legal and costs a re-enqueue at every hop.
@safe public final class EventLoop: SerialExecutor {
    /// The `sd_event *`. The pointer never changes; what it points to belongs to the loop thread.
    nonisolated(unsafe) let event: OpaquePointer
    /// Continuations resume on the *generic* executor unless their task prefers another: without
    /// this preference each `await` would start Dispatch's threads and their timer of 1 Hz.
    public let taskExecutor = LoopTaskExecutor()

    private struct Queued {
        var job: UnownedJob
        var isFromTask: Bool
    }
    /// pthread_self(3) of the loop thread.
    private let owner: Atomic<UInt>
    /// Jobs from other threads; `wakeDescriptor` is written once per batch.
    private let inbox = Mutex<[Queued]>([])
    private let isWakePending = Atomic<Bool>(false)
    private let wakeDescriptor: CInt
    /// Jobs from the loop thread itself: no lock and no wake-up. Touched on that thread only.
    nonisolated(unsafe) private var local: [Queued] = []
    /// The batch that runs now; swapped with `local` so that neither allocates again. Touched on that thread only.
    nonisolated(unsafe) private var batch: [Queued] = []

    /// Without its loop a daemon cannot even report: failing to make one ends the process.
    init() {
        var event: OpaquePointer?
        let result = unsafe sd_event_new(&event)
        guard result >= 0, let event = unsafe event else {
            fatalError("sd_event_new: \(SystemdError.text(of: -result))")
        }
        unsafe self.event = event
        wakeDescriptor = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        guard wakeDescriptor >= 0 else { fatalError("eventfd: \(SystemdError.text(of: errno))") }
        owner = Atomic(UInt(pthread_self()))
        unsafe local.reserveCapacity(64)
        unsafe batch.reserveCapacity(64)
        // A floating source: the sd_event owns it and lives as long as the process.
        let added = unsafe sd_event_add_io(
            event, nil, wakeDescriptor, IOEvents.readable.rawValue,
            { _, descriptor, _, _ in
                var count: UInt64 = 0
                _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
                return 0
            }, nil)
        guard added >= 0 else { fatalError("sd_event_add_io: \(SystemdError.text(of: -added))") }
    }

    /// Whether the caller runs on the loop's thread.
    public var isOnLoop: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

    // MARK: Running

    /// Takes over the calling thread until ``exit(_:)`` and returns its code.
    ///
    /// - Returns: the code, or a negative errno if the loop itself failed.
    public func run() -> CInt {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        while unsafe sd_event_get_state(event) != CInt(SD_EVENT_FINISHED) {
            let hasMore = drain()
            let result = unsafe sd_event_run(event, hasMore ? 0 : UInt64.max)
            if result < 0 && result != -EINTR { return result }
        }
        var code: CInt = 0
        _ = unsafe sd_event_get_exit_code(event, &code)
        return code
    }

    /// Makes ``run()`` return `code` once the events in hand are dispatched. On the loop only.
    public func exit(_ code: CInt) {
        checkIsolated()
        _ = unsafe sd_event_exit(event, code)
    }

    /// Lets the loop answer systemd's watchdog (sd_event_set_watchdog(3)): it sends `WATCHDOG=1` in
    /// time as long as it goes round. On the loop only.
    ///
    /// - Returns: whether the service manager asked for a watchdog (`WatchdogSec=`).
    @discardableResult
    public func setWatchdog(_ isEnabled: Bool) throws(SystemdError) -> Bool {
        checkIsolated()
        return try check(
            "sd_event_set_watchdog", unsafe sd_event_set_watchdog(event, isEnabled ? 1 : 0)) > 0
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        push(Queued(job: UnownedJob(job), isFromTask: false))
    }

    fileprivate func enqueueFromTask(_ job: consuming ExecutorJob) {
        push(Queued(job: UnownedJob(job), isFromTask: true))
    }

    public func checkIsolated() { precondition(isOnLoop, "not on the event loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    private func push(_ queued: Queued) {
        if isOnLoop {
            unsafe local.append(queued)
            return
        }
        inbox.withLock { $0.append(queued) }
        if !isWakePending.exchange(true, ordering: .acquiringAndReleasing) {
            var one: UInt64 = 1
            _ = unsafe write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
        }
    }

    /// Runs what is queued now; what is queued meanwhile waits for the next round, so that jobs
    /// cannot starve the event sources. Returns whether there is more.
    private func drain() -> Bool {
        if isWakePending.exchange(false, ordering: .acquiringAndReleasing) {
            inbox.withLock {
                unsafe local.append(contentsOf: $0)
                $0.removeAll(keepingCapacity: true)
            }
        }
        if unsafe local.isEmpty { return false }
        unsafe swap(&local, &batch)
        let serial = unsafe asUnownedSerialExecutor()
        let preferred = unsafe taskExecutor.asUnownedTaskExecutor()
        for queued in unsafe batch {
            if queued.isFromTask {
                unsafe queued.job.runSynchronously(isolatedTo: serial, taskExecutor: preferred)
            } else {
                unsafe queued.job.runSynchronously(on: serial)
            }
        }
        unsafe batch.removeAll(keepingCapacity: true)
        return unsafe !local.isEmpty
    }
}

/// The preferred executor of tasks that belong to the loop; ``LoopActor/task(_:)`` sets it.
public final class LoopTaskExecutor: TaskExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        LoopActor.shared.loop.enqueueFromTask(job)
    }
}
