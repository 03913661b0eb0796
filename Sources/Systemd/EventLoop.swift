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
    var isOnLoop: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

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

/// An event source of the loop (sd_event_source(3)). The source is removed when this object is
/// released.
///
/// The object may be released inside its own callback. A watched descriptor belongs to the caller,
/// who must release the source *before* closing the descriptor.
///
/// A change that fails (`ENOMEM`) throws. Misuse, such as a deadline for a source that is not a
/// timer, traps.
@LoopActor @safe public final class EventSource {
    /// The pointer never changes. Its target is used only on the loop, also by `deinit`.
    nonisolated(unsafe) let raw: OpaquePointer

    /// SD_EVENT_ONESHOT for sources that would fire in every round, SD_EVENT_ON for all others.
    private let enabledState: CInt

    init(owning raw: OpaquePointer, isOneShot: Bool) {
        unsafe self.raw = raw
        enabledState = CInt(isOneShot ? SD_EVENT_ONESHOT : SD_EVENT_ON)
    }

    // This is not an isolated deinit, because the source must be removed at the moment that the
    // last reference goes: the next statement may close its descriptor.
    deinit {
        LoopActor.shared.loop.checkIsolated()
        _ = unsafe sd_event_source_disable_unref(raw)
    }

    /// Whether the source reports events (sd_event_source_set_enabled(3)).
    ///
    /// A timer and a deferred source disable themselves when they fire. A timer that is enabled
    /// again without a new deadline fires again at once.
    public var isEnabled: Bool {
        get {
            var state: CInt = 0
            _ = unsafe sd_event_source_get_enabled(raw, &state)
            return state != CInt(SD_EVENT_OFF)
        }
        set {
            let result = unsafe sd_event_source_set_enabled(
                raw, CInt(newValue ? enabledState : CInt(SD_EVENT_OFF)))
            // ESTALE means that the loop has ended.
            precondition(
                result >= 0 || result == -ESTALE, "sd_event_source_set_enabled: \(result)")
        }
    }

    /// The source with the lowest value is dispatched first if several are ready (0 unless set;
    /// sd_event_source_set_priority(3)).
    public var priority: Int64 {
        get {
            var priority: Int64 = 0
            _ = unsafe sd_event_source_get_priority(raw, &priority)
            return priority
        }
        set {
            let result = unsafe sd_event_source_set_priority(raw, newValue)
            precondition(
                result >= 0 || result == -ESTALE, "sd_event_source_set_priority: \(result)")
        }
    }

    /// Changes the events to watch for (sd_event_source_set_io_events(3)). For a descriptor's
    /// source only.
    public func setEvents(_ events: IOEvents) throws(SystemdError) {
        try check(
            "sd_event_source_set_io_events",
            unsafe sd_event_source_set_io_events(raw, events.rawValue))
    }

    /// Arms a timer for an instant of its clock, in nanoseconds. An instant in the past fires in
    /// the next round. For a timer only.
    ///
    /// sd-event counts microseconds. The deadline is rounded up, so the timer never fires early.
    public func setDeadline(nanoseconds: UInt64) throws(SystemdError) {
        try check(
            "sd_event_source_set_time",
            unsafe sd_event_source_set_time(raw, microseconds(roundingUp: nanoseconds)))
        isEnabled = true
    }

    /// Arms a timer on CLOCK_MONOTONIC relative to now (a negative duration counts as 0).
    public func setDeadline(after duration: Duration) throws(SystemdError) {
        try setDeadline(nanoseconds: LoopActor.deadline(after: duration))
    }
}

/// Converts a deadline. sd-event treats `UINT64_MAX` as "never", which is right for the highest
/// deadline.
func microseconds(roundingUp nanoseconds: UInt64) -> UInt64 {
    nanoseconds == .max ? .max : nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
}

/// The events that a descriptor is watched for, or that have happened (epoll_ctl(2)).
public struct IOEvents: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// EPOLLIN
    public static let readable = IOEvents(rawValue: 0x001)
    /// EPOLLPRI: a pressure trigger or `cgroup.events`
    public static let priority = IOEvents(rawValue: 0x002)
    /// EPOLLOUT
    public static let writable = IOEvents(rawValue: 0x004)
    /// EPOLLERR: reported whether watched or not
    public static let error = IOEvents(rawValue: 0x008)
    /// EPOLLHUP: reported whether watched or not
    public static let hangUp = IOEvents(rawValue: 0x010)
    /// EPOLLRDHUP: the other side has shut down writing
    public static let readHangUp = IOEvents(rawValue: 0x2000)
    /// EPOLLET: an event is reported once. Watching again, even for the same events, reports it
    /// again.
    public static let edgeTriggered = IOEvents(rawValue: 0x8000_0000)
}
