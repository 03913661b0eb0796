internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// A client's call that waits for an answer of the core.
enum WaitingCall {
    /// The reply is made from the core's answer alone.
    case plain(ControlConnection)
    case launch(Launch)
    case prewarm(Prewarm)

    struct Launch {
        let connection: ControlConnection
        let identifier: LaunchIdentifier
        let requestedAt: Instant
        /// What the client's user is charged with until the launch is answered.
        let byteCount: Int
        /// The app, if this is a launch for a reason, for example a URL; the reply names it.
        var handler: AppIdentifier?
    }

    /// One call that asks for several paused instances; it is answered when the last of them is
    /// there.
    @LoopActor
    final class Prewarm {
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
        case .plain(let connection): connection
        case .launch(let call): call.connection
        case .prewarm(let call): call.connection
        }
    }

    /// The bytes that a launch for a reason may bring, which its user is charged with.
    static let contentByteCount = WireFormat.inlineStringLimit
}
