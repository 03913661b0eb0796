internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Calls that the core has been asked about and has not answered.
@LoopActor
struct WaitingCalls {
    /// What an answer of the core goes to.
    enum Waiter {
        case launch(
            ControlConnection, LaunchIdentifier, requestedAt: Instant, byteCount: Int)
        case transition(ControlConnection)
        case exit(ControlConnection)
        case prewarm(PrewarmCall)
        case reset(ControlConnection)
        case prepare(ControlConnection)
        /// For a reason, whose answer names the app.
        case handling(ControlConnection, AppIdentifier, LaunchIdentifier, requestedAt: Instant)
    }

    /// One call that asks for several paused instances: answered when the last of them is there.
    final class PrewarmCall {
        let connection: ControlConnection
        var missing: Int
        var instances: [UInt64] = []
        var error: ControlError?
        init(connection: ControlConnection, count: Int) {
            self.connection = connection
            missing = count
        }
    }

    private var waiters: [RequestIdentifier: Waiter] = [:]
    private var requestsOfConnection: [UInt64: [RequestIdentifier]] = [:]
    private var nextRequest: UInt64 = 1

    mutating func add(_ waiter: Waiter) -> RequestIdentifier {
        let request = RequestIdentifier(nextRequest)
        nextRequest += 1
        waiters[request] = waiter
        requestsOfConnection[waiter.connection.identifier, default: []].append(request)
        return request
    }

    /// Answered: nobody waits any more.
    mutating func take(_ request: RequestIdentifier) -> Waiter? {
        guard let waiter = waiters.removeValue(forKey: request) else { return nil }
        let connection = waiter.connection.identifier
        if requestsOfConnection[connection]?.count == 1 {
            requestsOfConnection[connection] = nil
        } else {
            requestsOfConnection[connection]?.removeAll { $0 == request }
        }
        return waiter
    }

    /// The client is gone. A launch is answered all the same: until then it costs its user what it
    /// brought.
    ///
    /// - Returns: the requests that need no answer any more.
    mutating func abandon(_ connection: ControlConnection) -> [RequestIdentifier] {
        let requests = requestsOfConnection.removeValue(forKey: connection.identifier) ?? []
        return requests.filter { request in
            switch waiters[request] {
            case .launch?, .handling?, .reset?, .prepare?, nil: return false
            case .transition?, .exit?, .prewarm?:
                waiters[request] = nil
                return true
            }
        }
    }
}

@LoopActor
extension WaitingCalls.Waiter {
    var connection: ControlConnection {
        switch self {
        case .launch(let connection, _, _, _), .transition(let connection),
            .exit(let connection), .reset(let connection), .prepare(let connection),
            .handling(let connection, _, _, _):
            connection
        case .prewarm(let call): call.connection
        }
    }

    /// What the user of a launch is charged with until it is answered; nil: it is none.
    var launchByteCount: Int? {
        switch self {
        case .launch(_, _, _, let byteCount): byteCount
        case .handling: ControlHandler.contentByteCount
        case .transition, .exit, .prewarm, .reset, .prepare: nil
        }
    }
}
