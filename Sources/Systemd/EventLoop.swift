internal import CSystemd
import Glibc
import Synchronization

/// An `sd_event` on one thread (sd-event(3)), which is the serial executor of ``LoopActor``.
@safe public final class EventLoop: SerialExecutor {
    /// The `sd_event *`. The pointer never changes; its target belongs to the loop's thread.
    nonisolated(unsafe) let event: OpaquePointer
    /// The loop's thread (pthread_self(3)).
    private let owner: Atomic<UInt>

    /// Creates the loop. A failure ends the process, because a daemon without a loop cannot even
    /// report it.
    init() {
        var event: OpaquePointer?
        let result = unsafe sd_event_new(&event)
        guard result >= 0, let event = unsafe event else {
            fatalError("sd_event_new: \(SystemdError.text(of: -result))")
        }
        unsafe self.event = event
        owner = Atomic(UInt(pthread_self()))
    }

    /// Whether the caller runs on the loop's thread.
    public var isOnLoop: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

    // MARK: Running

    /// Runs on the calling thread until ``exit(_:)`` (sd_event_loop(3)).
    ///
    /// - Returns: the code of ``exit(_:)``, or a negative errno if the loop itself failed.
    public func run() -> CInt {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        while unsafe sd_event_get_state(event) != CInt(SD_EVENT_FINISHED) {
            let result = unsafe sd_event_run(event, UInt64.max)
            if result < 0 && result != -EINTR { return result }
        }
        var code: CInt = 0
        _ = unsafe sd_event_get_exit_code(event, &code)
        return code
    }

    /// Makes ``run()`` return `code` after the current events are dispatched. On the loop only.
    public func exit(_ code: CInt) {
        checkIsolated()
        _ = unsafe sd_event_exit(event, code)
    }

    /// Makes the loop answer systemd's watchdog (sd_event_set_watchdog(3)) with `WATCHDOG=1` for as
    /// long as it runs. On the loop only.
    ///
    /// - Returns: whether the service manager asked for a watchdog (`WatchdogSec=`).
    @discardableResult
    public func setWatchdog(_ isEnabled: Bool) throws(SystemdError) -> Bool {
        checkIsolated()
        return try check(
            "sd_event_set_watchdog", unsafe sd_event_set_watchdog(event, isEnabled ? 1 : 0)) > 0
    }

    // MARK: Executor

    /// Traps. The loop's thread waits in sd_event_run(3), so a job would not run before the next
    /// event.
    public func enqueue(_ job: consuming ExecutorJob) {
        fatalError("the event loop runs no tasks: use a source of LoopActor")
    }

    public func checkIsolated() { precondition(isOnLoop, "not on the event loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
