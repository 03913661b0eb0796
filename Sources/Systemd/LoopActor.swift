internal import CSystemd
import Glibc

/// The actor whose executor is the event loop. All state of the daemon is isolated to it.
///
/// The daemon consists of callbacks and has no `async` code, because a single `Task` would start
/// Dispatch's threads permanently, which cause one wake-up per second. So the loop accepts no jobs.
///
/// ```swift
/// @main struct Program {
///     static func main() {                       // synchronous: `async main` starts Dispatch
///         let server = LoopActor.assumeIsolated { Server() }
///         let code = LoopActor.shared.loop.run()
///         withExtendedLifetime(server) {}
///         exit(code)
///     }
/// }
/// ```
@globalActor public actor LoopActor {
    public static let shared = LoopActor()

    public nonisolated let loop = EventLoop()

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    /// Runs `body` at once, like `MainActor.assumeIsolated`. Traps if it is not called on the loop.
    public nonisolated static func assumeIsolated<T: Sendable, Failure: Error>(
        _ body: @LoopActor () throws(Failure) -> T, file: StaticString = #fileID, line: UInt = #line
    ) throws(Failure) -> T {
        typealias Isolated = @LoopActor () throws(Failure) -> T
        typealias Plain = () throws(Failure) -> T
        shared.preconditionIsolated(file: file, line: line)
        return try withoutActuallyEscaping(body) {
            (escaping: @escaping Isolated) throws(Failure) -> T in
            // Isolation is part of the type, not of the representation, and the line above has
            // checked that this is the actor's thread. The standard library does the same.
            try unsafe unsafeBitCast(escaping, to: Plain.self)()
        }
    }
}

/// The target of sd-event's userdata. The source holds one reference, which its destroy callback
/// releases, so a handler lives as long as the source, and at least until its last call has
/// returned.
@LoopActor private final class Handler<Event> {
    let fire: @LoopActor (Event) -> Void
    init(_ fire: @escaping @LoopActor (Event) -> Void) { self.fire = fire }
}

@LoopActor private func handle<Event>(_ userdata: UnsafeMutableRawPointer?, _ event: Event) -> CInt
{
    guard let userdata = unsafe userdata else { return -EFAULT }
    // The handler is retained during the call, because it may release its own source.
    let handler = unsafe Unmanaged<Handler<Event>>.fromOpaque(userdata).takeUnretainedValue()
    handler.fire(event)
    return 0
}

@LoopActor private func addSource<Event>(
    _ call: StaticString, isOneShot: Bool = false, _ handler: Handler<Event>,
    _ add: (UnsafeMutableRawPointer, inout OpaquePointer?) -> CInt
) throws(SystemdError) -> EventSource {
    let userdata = unsafe Unmanaged.passRetained(handler)
    var raw: OpaquePointer?
    let result = unsafe add(userdata.toOpaque(), &raw)
    guard result >= 0, let raw = unsafe raw else {
        unsafe userdata.release()
        try check(call, result < 0 ? result : -ENOMEM)
        fatalError("unreachable: check throws for a negative result")
    }
    _ = unsafe sd_event_source_set_destroy_callback(raw) { userdata in
        if let userdata = unsafe userdata {
            unsafe Unmanaged<AnyObject>.fromOpaque(userdata).release()
        }
    }
    return unsafe EventSource(owning: raw, isOneShot: isOneShot)
}

// C callbacks inside a @LoopActor function are isolated to the actor, with a run-time check, so
// they need no assumeIsolated.
extension LoopActor {
    @LoopActor private static var event: OpaquePointer { unsafe shared.loop.event }

    /// Watches a descriptor, level-triggered unless the events say otherwise (sd_event_add_io(3)).
    ///
    /// The descriptor belongs to the caller, who must release the source before closing it.
    @LoopActor public static func io(
        _ descriptor: CInt, _ events: IOEvents, priority: Int64 = 0,
        _ fire: @escaping @LoopActor (IOEvents) -> Void
    ) throws(SystemdError) -> EventSource {
        let source = try unsafe addSource("sd_event_add_io", Handler(fire)) { userdata, raw in
            unsafe sd_event_add_io(
                event, &raw, descriptor, events.rawValue,
                { _, _, seen, userdata in
                    unsafe handle(userdata, IOEvents(rawValue: seen))
                }, userdata)
        }
        if priority != 0 { source.priority = priority }
        return source
    }

    /// A timer, on CLOCK_MONOTONIC by default (sd_event_add_time(3)). It is not armed until
    /// `setDeadline`.
    ///
    /// It fires once for each deadline. The kernel and sd-event may delay it by at most `accuracy`,
    /// so that one wake-up serves several timers.
    @LoopActor public static func timer(
        on clock: TimerClock = .monotonic, accuracy: Duration = .milliseconds(1),
        priority: Int64 = 0,
        _ fire: @escaping @LoopActor () -> Void
    ) throws(SystemdError) -> EventSource {
        // 0 would mean sd-event's default of 250 ms.
        let slack = max(1, microseconds(roundingUp: nanoseconds(of: accuracy)))
        let source = try unsafe addSource(
            "sd_event_add_time", isOneShot: true, Handler<Void> { fire() }
        ) {
            userdata, raw in
            unsafe sd_event_add_time(
                event, &raw, clock.identifier, UInt64.max, slack,
                { _, _, userdata in unsafe handle(userdata, ()) }, userdata)
        }
        source.isEnabled = false
        if priority != 0 { source.priority = priority }
        return source
    }

    /// A timer that is armed for an instant of CLOCK_MONOTONIC, in nanoseconds.
    @LoopActor public static func timer(
        deadlineNanoseconds: UInt64, accuracy: Duration = .milliseconds(1), priority: Int64 = 0,
        _ fire: @escaping @LoopActor () -> Void
    ) throws(SystemdError) -> EventSource {
        let source = try timer(accuracy: accuracy, priority: priority, fire)
        try source.setDeadline(nanoseconds: deadlineNanoseconds)
        return source
    }

    /// A timer that is armed relative to now.
    @LoopActor public static func timer(
        after duration: Duration, accuracy: Duration = .milliseconds(1), priority: Int64 = 0,
        _ fire: @escaping @LoopActor () -> Void
    ) throws(SystemdError) -> EventSource {
        try timer(
            deadlineNanoseconds: deadline(after: duration), accuracy: accuracy, priority: priority,
            fire)
    }

    /// Permanently blocks the ordinary delivery of a signal, which then waits until
    /// ``signal(_:priority:_:)`` receives it. A child process must get an empty mask.
    @LoopActor public static func holdBack(_ number: CInt) {
        var set = sigset_t()
        _ = unsafe sigemptyset(&set)
        _ = unsafe sigaddset(&set, number)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Receives a signal (sd_event_add_signal(3)), whose ordinary delivery is blocked from now on.
    @LoopActor public static func signal(
        _ number: CInt, priority: Int64 = 0, _ fire: @escaping @LoopActor (CInt) -> Void
    ) throws(SystemdError) -> EventSource {
        holdBack(number)
        let source = try unsafe addSource("sd_event_add_signal", Handler(fire)) { userdata, raw in
            unsafe sd_event_add_signal(
                event, &raw, number,
                { _, info, userdata in
                    unsafe handle(userdata, CInt(info?.pointee.ssi_signo ?? 0))
                }, userdata)
        }
        if priority != 0 { source.priority = priority }
        return source
    }

    /// Runs once in the next round, after the current events (sd_event_add_defer(3)). Enable it
    /// again to run it again.
    @LoopActor public static func deferred(
        priority: Int64 = 0, _ fire: @escaping @LoopActor () -> Void
    ) throws(SystemdError) -> EventSource {
        let source = try unsafe addSource(
            "sd_event_add_defer", isOneShot: true, Handler<Void> { fire() }
        ) {
            userdata, raw in
            unsafe sd_event_add_defer(
                event, &raw, { _, userdata in unsafe handle(userdata, ()) }, userdata)
        }
        if priority != 0 { source.priority = priority }
        return source
    }
}
