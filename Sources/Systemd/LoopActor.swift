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
