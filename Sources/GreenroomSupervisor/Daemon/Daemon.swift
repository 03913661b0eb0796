internal import Glibc
internal import GreenroomLinux
public import Systemd

/// The running daemon. Each stage of the start is a type, made of the one before: a daemon that has
/// not adopted what a former one left cannot serve.
@LoopActor
public final class Daemon {
    private let serving: Serving

    /// Starts everything, up to the point where clients can connect. Throws errors that a person
    /// must correct.
    public init(options: Options, environment: [String]) throws {
        // These signals wait until the daemon serves: if one of them ended it earlier, nobody would
        // end the processes that it has begun.
        for signal in [SIGTERM, SIGINT] { LoopActor.holdBack(signal) }
        serving = try Prepared(options, environment).adopt().serve()
    }

    /// Serves until told to end. Returns the exit status.
    public func run() -> Int32 { serving.run() }
}

/// The last stage of a start: clients are served, and signals are heard.
@LoopActor
final class Serving {
    private let rooms: Rooms
    private var listener: ControlListener?
    private let sources: [EventSource]
    private let disposal: Disposal
    private let lock: FileDescriptor

    init(
        rooms: Rooms, listener: ControlListener, sources: [EventSource], disposal: Disposal,
        lock: FileDescriptor
    ) {
        self.rooms = rooms
        self.listener = listener
        self.sources = sources
        self.disposal = disposal
        self.lock = lock
    }

    func run() -> Int32 {
        let shared = rooms.shared
        do throws(SystemdError) { try LoopActor.shared.loop.setWatchdog(true) } catch {
            shared.log.failed("setting up the watchdog", error)
        }
        Notify.ready(status: shared.reporter.statusText)
        rooms.machine.events.connect()
        // The start runs much code that is never needed again: half of what is resident.
        OwnMemory.dropText()
        defer {
            rooms.unwritten.write()
            rooms.history.history.end()
            shared.events.flush()
            // Before the lock is released: the next daemon to take it must find nobody at the
            // sockets.
            listener = nil
            rooms.recovery.reconnection.leave()
            if shared.calls.end() { disposal.disposer.leave() }
        }
        return LoopActor.shared.loop.run()
    }
}
