/// What a rule may go by when it is asked about an app that can be prewarmed.
public struct WarmthFacts: Sendable {
    public var app: AppDescription
    /// A client asked for a pool, and nobody has let it expire since.
    public var isPoolWanted: Bool
    /// Its user has a session.
    public var hasSession: Bool
    /// The beginning of time if never.
    public var lastLaunched: Instant
    public var now: Instant
}

/// Decides how many paused instances of an app stand ready without being asked. Conditions of the
/// machine, back-off and the byte budget are not its business: they hold for every rule. Asked often:
/// it looks nothing up.
public protocol WarmthRule: Sendable {
    func count(_ facts: WarmthFacts) -> Int
}

/// What the manifest says: so many from boot, from login, or once they were asked for.
public struct DeclaredWarmth: WarmthRule {
    public init() {}

    public func count(_ facts: WarmthFacts) -> Int {
        switch facts.app.prewarmOccasion {
        case .boot: facts.app.prewarmCount
        case .login: facts.isPoolWanted || facts.hasSession ? facts.app.prewarmCount : 0
        case .demand: facts.isPoolWanted ? facts.app.prewarmCount : 0
        case .never: 0
        }
    }
}

/// The rule in force. It is no state: two cores that know the same are equal.
struct Warmth: Hashable, Sendable {
    var rule: any WarmthRule = DeclaredWarmth()
    static func == (_: Warmth, _: Warmth) -> Bool { true }
    func hash(into _: inout Hasher) {}
}

extension App {
    var isEligible: Bool { description?.isEligible == true && !hasMisfired }

    /// As it is installed now. Another program may do without what this one starts.
    var hasMisfired: Bool {
        description != nil && record.misfiredGeneration == description?.generation
    }
}
