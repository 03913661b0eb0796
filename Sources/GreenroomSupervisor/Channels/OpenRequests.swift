internal import GreenroomLifecycle

/// Requests of apps that the core has not answered yet: so many of one instance, and none of one that is
/// gone.
struct OpenRequests {
    struct Request: Equatable {
        let instance: InstanceIdentifier
        /// Nil where the app has its answer already.
        let cookie: UInt64?
    }

    /// Of one instance: an app that asks in a loop waits for itself.
    static let limit = 16

    private var requests: [RequestIdentifier: Request] = [:]
    private var counts: [InstanceIdentifier: Int] = [:]

    var count: Int { requests.count }

    func isFull(of instance: InstanceIdentifier) -> Bool {
        counts[instance] ?? 0 >= Self.limit
    }

    mutating func add(_ identifier: RequestIdentifier, _ request: Request) {
        requests[identifier] = request
        counts[request.instance, default: 0] += 1
    }

    /// Gives it out, once; nil: its app is gone, or has its answer.
    mutating func take(_ identifier: RequestIdentifier) -> Request? {
        guard let request = requests.removeValue(forKey: identifier) else { return nil }
        let count = counts[request.instance] ?? 0
        counts[request.instance] = count > 1 ? count - 1 : nil
        return request
    }

    /// Nobody waits for its answers any more; what it asked for goes on.
    mutating func forget(_ instance: InstanceIdentifier) {
        guard counts.removeValue(forKey: instance) != nil else { return }
        requests = requests.filter { $0.value.instance != instance }
    }
}
