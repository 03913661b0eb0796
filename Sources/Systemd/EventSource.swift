internal import CSystemd
import Glibc

/// One event source of the loop (sd_event_source(3)). Dropping the object removes the source.
///
/// Dropping it inside its own callback is allowed. A descriptor that is watched belongs to the
/// caller, who must drop the source *before* closing it.
///
/// A source that failed to change (`ENOMEM`) throws; misuse, such as a deadline for something that
/// is not a timer, traps.
@LoopActor @safe public final class EventSource {
    /// The pointer never changes; what it points to is touched on the loop only, also by `deinit`.
    nonisolated(unsafe) let raw: OpaquePointer

    /// SD_EVENT_ONESHOT for what would fire again in every round, SD_EVENT_ON for the rest.
    private let enabledState: CInt

    init(adopting raw: OpaquePointer, isOneShot: Bool) {
        unsafe self.raw = raw
        enabledState = CInt(isOneShot ? SD_EVENT_ONESHOT : SD_EVENT_ON)
    }

    // Not an isolated deinit: the source must be gone when the last reference is, for the next
    // statement may close its descriptor.
    deinit {
        LoopActor.shared.loop.checkIsolated()
        _ = unsafe sd_event_source_disable_unref(raw)
    }

    /// A disabled source stays where it is and reports nothing (sd_event_source_set_enabled(3)).
    ///
    /// A timer and a deferred source disable themselves when they fire; a timer that is enabled
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
            // ESTALE: the loop is over, and nothing matters to it any more.
            precondition(
                result >= 0 || result == -ESTALE, "sd_event_source_set_enabled: \(result)")
        }
    }

    /// Among sources that are ready together, the lower value goes first (0 unless set;
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

    /// Watches for other events (sd_event_source_set_io_events(3)); for a descriptor's source only.
    public func setEvents(_ events: IOEvents) throws(SystemdError) {
        try check(
            "sd_event_source_set_io_events",
            unsafe sd_event_source_set_io_events(raw, events.rawValue))
    }

    /// Arms a timer for an instant of CLOCK_MONOTONIC, in nanoseconds; one in the past fires in the
    /// next round. For a timer only.
    ///
    /// sd-event counts microseconds: the deadline is rounded up, so it never fires early.
    public func setDeadline(nanoseconds: UInt64) throws(SystemdError) {
        try check(
            "sd_event_source_set_time",
            unsafe sd_event_source_set_time(raw, microseconds(roundingUp: nanoseconds)))
        isEnabled = true
    }

    /// Arms a timer relative to now (a negative duration is none). For a timer only.
    public func setDeadline(after duration: Duration) throws(SystemdError) {
        try setDeadline(nanoseconds: LoopActor.deadline(after: duration))
    }
}

/// sd-event reads `UINT64_MAX` as "never", which is what a deadline beyond all counting means.
func microseconds(roundingUp nanoseconds: UInt64) -> UInt64 {
    nanoseconds == .max ? .max : nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
}
