internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Every request that the core has not answered yet: where it came from, and what it brought.
@LoopActor
final class Requests {
    enum Origin {
        case client(WaitingCall)
        /// An app made with the SDK, with the request's cookie; nil if the app has its answer
        /// already.
        case app(InstanceIdentifier, cookie: UInt64?)
        /// A timer or a path: nobody waits for the answer.
        case daemon
    }

    struct Entry {
        let origin: Origin
        /// What the launch brought.
        var context: LaunchContext?
        /// When the foreground was asked for, in a request that is not a launch.
        var foregroundRequestedAt: Instant?
    }

    /// At most this many requests of one instance at a time: an app that asks in a loop must wait
    /// for its own requests.
    nonisolated static let limitPerInstance = 16

    private let core: Core
    private let instances: InstanceTable
    private var table: [RequestIdentifier: Entry] = [:]
    private var requestsOfConnection: [UInt64: [RequestIdentifier]] = [:]
    /// The number of the next request.
    private var next: UInt64 = 1

    private final class OpenCount: InstancePart {
        var count = 0
    }

    init(core: Core, instances: InstanceTable) {
        self.core = core
        self.instances = instances
    }

    var count: Int { table.count }

    /// What is known of a request until it is answered.
    subscript(identifier: RequestIdentifier) -> Entry? { table[identifier] }

    /// The request that a launch began with; nil if there is none, or if it is answered.
    subscript(origin: LaunchOrigin) -> Entry? {
        if case .request(let identifier) = origin { table[identifier] } else { nil }
    }

    /// Asks the core, and records the request until the core has answered.
    ///
    /// - Parameter context: what a launch brings.
    @discardableResult
    func ask(
        _ request: Request, for origin: Origin, context: LaunchContext? = nil
    ) -> RequestIdentifier {
        let identifier = add(origin, context, foregroundRequestedAt: whenForeground(request))
        core.handle(.requested(identifier, request))
        return identifier
    }

    private func whenForeground(_ request: Request) -> Instant? {
        if case .transition(_, .foreground) = request { core.now } else { nil }
    }

    private func add(
        _ origin: Origin, _ context: LaunchContext?, foregroundRequestedAt: Instant?
    ) -> RequestIdentifier {
        let identifier = RequestIdentifier(next)
        next += 1
        table[identifier] = Entry(
            origin: origin, context: context, foregroundRequestedAt: foregroundRequestedAt)
        switch origin {
        case .client(let call):
            requestsOfConnection[call.connection.identifier, default: []].append(identifier)
        case .app(let instance, _):
            instances.part(OpenCount.self, of: instance)?.count += 1
        case .daemon: break
        }
        return identifier
    }

    /// Whether the instance has as many requests as it may have at a time.
    func isFull(of instance: InstanceIdentifier) -> Bool {
        instances.known(OpenCount.self, of: instance)?.count ?? 0 >= Self.limitPerInstance
    }

    /// The core has answered the request. From now on, its user is not charged with what it
    /// brought.
    func take(_ identifier: RequestIdentifier) -> Entry? {
        guard let request = table.removeValue(forKey: identifier) else { return nil }
        switch request.origin {
        case .client(let call):
            let connection = call.connection.identifier
            if requestsOfConnection[connection]?.count == 1 {
                requestsOfConnection[connection] = nil
            } else {
                requestsOfConnection[connection]?.removeAll { $0 == identifier }
            }
            if case .launch(let launch) = call {
                launch.connection.user.endLaunch(byteCount: launch.byteCount)
            }
        case .app(let instance, _): instances.known(OpenCount.self, of: instance)?.count -= 1
        case .daemon: break
        }
        return request
    }

    /// The client is gone: its requests need no answer any more. The core still answers its
    /// launches, at once if it withdraws them; until then their user is charged with what they
    /// brought. A client that wants no reply may leave at once, so its launch goes on.
    func abandon(_ connection: ControlConnection) {
        let requests = requestsOfConnection.removeValue(forKey: connection.identifier) ?? []
        for identifier in requests {
            guard case .client(let call)? = table[identifier]?.origin else { continue }
            if case .launch = call {
                if connection.isCallOneway { continue }
            } else {
                table[identifier] = nil
            }
            core.handle(.requestAbandoned(identifier))
        }
    }
}

/// A client's call that waits for an answer of the core.
enum WaitingCall {
    /// The reply is made from the core's answer alone.
    case plain(ControlConnection)
    case launch(Launch)
    case prewarm(Prewarm)

    struct Launch {
        let connection: ControlConnection
        let identifier: LaunchIdentifier
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

extension AppEvent.Answer {
    /// The answer to a request of an instance that has too many requests under way.
    static var tooManyRequests: AppEvent.Answer {
        .refused(
            code: EAGAIN,
            reason:
                "\(Requests.limitPerInstance) requests of this app are under way; ask again when one "
                + "of them is answered")
    }
}
