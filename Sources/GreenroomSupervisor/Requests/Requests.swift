internal import GreenroomLifecycle
internal import Systemd

/// Every request that the core has been asked and has not answered: where it came from, and what it brought.
@LoopActor
final class Requests {
    enum Origin {
        case client(ControlCallWaiting)
        /// An app made with the SDK, by its cookie; nil: it has its answer already.
        case app(InstanceIdentifier, cookie: UInt64?)
        /// A timer, a path: nobody waits for the answer.
        case daemon
    }

    struct Request {
        let origin: Origin
        /// What the launch brought.
        var context: LaunchContext?
        /// When the foreground was asked for, by a request without a launch.
        var foregroundRequestedAt: Instant?
    }

    /// Requests of one instance at a time: an app that asks in a loop waits for itself.
    nonisolated static let limitPerInstance = 16

    private let instances: InstanceTable
    private var table: [RequestIdentifier: Request] = [:]
    private var requestsOfConnection: [UInt64: [RequestIdentifier]] = [:]
    /// 0 is the core's own (`RequestIdentifier.automatic`).
    private var next: UInt64 = 1

    private final class OpenCount: InstancePart {
        var count = 0
    }

    init(instances: InstanceTable) { self.instances = instances }

    var count: Int { table.count }

    /// What is known of it until it is answered.
    subscript(identifier: RequestIdentifier) -> Request? { table[identifier] }

    /// The number under which the core is to be asked.
    func begin(
        _ origin: Origin, context: LaunchContext? = nil, foregroundRequestedAt: Instant? = nil
    ) -> RequestIdentifier {
        let identifier = RequestIdentifier(next)
        next += 1
        table[identifier] = Request(
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

    /// The instance has asked as often as it may at a time.
    func isFull(of instance: InstanceIdentifier) -> Bool {
        instances.known(OpenCount.self, of: instance)?.count ?? 0 >= Self.limitPerInstance
    }

    /// The core has answered it. Until now a launch has cost its user what it brought.
    func take(_ identifier: RequestIdentifier) -> Request? {
        guard let request = table.removeValue(forKey: identifier) else { return nil }
        switch request.origin {
        case .client(let call):
            let connection = call.connection.identifier
            if requestsOfConnection[connection]?.count == 1 {
                requestsOfConnection[connection] = nil
            } else {
                requestsOfConnection[connection]?.removeAll { $0 == identifier }
            }
            if let byteCount = call.launchByteCount {
                call.connection.user.endLaunch(byteCount: byteCount)
            }
        case .app(let instance, _): instances.known(OpenCount.self, of: instance)?.count -= 1
        case .daemon: break
        }
        return request
    }

    /// The client is gone. A launch is answered all the same: until then it costs its user what it
    /// brought.
    ///
    /// - Returns: the requests that need no answer any more.
    func abandon(_ connection: ControlConnection) -> [RequestIdentifier] {
        let requests = requestsOfConnection.removeValue(forKey: connection.identifier) ?? []
        return requests.filter { identifier in
            guard case .client(let call)? = table[identifier]?.origin else { return false }
            switch call {
            case .launch, .handling, .reset, .prepare: return false
            case .transition, .exit, .prewarm:
                table[identifier] = nil
                return true
            }
        }
    }
}
