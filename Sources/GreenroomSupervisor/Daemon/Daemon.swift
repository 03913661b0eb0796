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
