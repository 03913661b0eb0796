internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// A client's call that waits for an answer of the core.
enum ControlCallWaiting {
    case launch(ControlConnection, LaunchIdentifier, requestedAt: Instant, byteCount: Int)
    case transition(ControlConnection)
    case exit(ControlConnection)
    case prewarm(PrewarmCall)
    case reset(ControlConnection)
    case prepare(ControlConnection)
    /// A launch for a reason, for example a URL; the reply names the app.
    case handling(ControlConnection, AppIdentifier, LaunchIdentifier, requestedAt: Instant)

    /// One call that asks for several paused instances; it is answered when the last of them is
    /// there.
    @LoopActor
    final class PrewarmCall {
        nonisolated let connection: ControlConnection
        var missing: Int
        var instances: [UInt64] = []
        var error: ControlError?

        init(connection: ControlConnection, count: Int) {
            self.connection = connection
            missing = count
        }
    }

    var connection: ControlConnection {
        switch self {
        case .launch(let connection, _, _, _), .transition(let connection),
            .exit(let connection), .reset(let connection), .prepare(let connection),
            .handling(let connection, _, _, _):
            connection
        case .prewarm(let call): call.connection
        }
    }

    /// The bytes that a launch for a reason may bring, which its user is charged with.
    static let contentByteCount = WireFormat.inlineStringLimit

    /// The bytes that the user of a launch is charged with until it is answered; nil if the call is
    /// no launch.
    var launchByteCount: Int? {
        switch self {
        case .launch(_, _, _, let byteCount): byteCount
        case .handling: Self.contentByteCount
        case .transition, .exit, .prewarm, .reset, .prepare: nil
        }
    }
}
