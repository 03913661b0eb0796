internal import GreenroomLifecycle

/// The pool environments that launches have asked for, by key, so that the pool can be refilled
/// with the one that is used. Forgotten ones cost one cold launch each.
struct PoolEnvironments {
    /// A user has a handful (terminal, session, cron). The oldest is forgotten first.
    static let limit = 64

    private var known: [EnvironmentKey: PoolEnvironment] = [:]
    private var order: [EnvironmentKey] = []

    subscript(key: EnvironmentKey) -> PoolEnvironment? { known[key] }

    mutating func remember(_ environment: PoolEnvironment) {
        guard known.updateValue(environment, forKey: environment.key) == nil else { return }
        order.append(environment.key)
        if order.count > Self.limit { known[order.removeFirst()] = nil }
    }
}
