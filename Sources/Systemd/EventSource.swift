internal import CSystemd
import Glibc

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
