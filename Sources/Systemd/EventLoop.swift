internal import CSystemd
import Glibc
import Synchronization

/// One thread, one `sd_event` (sd-event(3)): the serial executor of ``LoopActor``.
@safe public final class EventLoop: SerialExecutor {
    /// The `sd_event *`. The pointer never changes; what it points to belongs to the loop thread.
    nonisolated(unsafe) let event: OpaquePointer
    /// pthread_self(3) of the loop thread.
    private let owner: Atomic<UInt>

    /// Without its loop a daemon cannot even report: failing to make one ends the process.
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

    /// Takes over the calling thread until ``exit(_:)`` and returns its code (sd_event_loop(3)).
    ///
    /// - Returns: the code, or a negative errno if the loop itself failed.
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

    /// Traps: the loop's thread waits in sd_event_run(3), so a job would wait for the next event.
    public func enqueue(_ job: consuming ExecutorJob) {
        fatalError("the event loop runs no tasks: use a source of LoopActor")
    }

    public func checkIsolated() { precondition(isOnLoop, "not on the event loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
