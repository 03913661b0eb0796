/// What running a command means, found without running it.
public struct ExecutableFacts: Equatable, Sendable {
    /// The path that is passed to exec, after the name was looked up.
    public var path: String
    /// Every file that the kernel and `env` use, in order: scripts, wrappers, the executable, its
    /// ELF interpreter. When one of them changes, a paused instance is stale.
    public var files: [InspectedFile]
    /// The real path of the executable that ends up running, as `/proc/PID/exe` will show it.
    public var executable: String
    /// The arguments that come before the caller's own in the executable's argv (interpreter, its
    /// option, script); nil if there is nothing before them but the program's name.
    public var argumentPrefix: [String]?
    public var eligibility: Eligibility
}

/// One file that a command consists of.
public struct InspectedFile: Equatable, Sendable {
    public enum Role: String, Sendable, CaseIterable {
        case script
        /// `env`, which only runs another command.
        case wrapper
        case executable
        /// The dynamic linker that the executable names.
        case loader
        /// A hook of the daemon's that runs in an interpreter.
        case hook
    }

    public var role: Role
    /// The path as it was given; links are followed again at each comparison.
    public var path: String
    public var identity: FileIdentity

    public init(role: Role, path: String, identity: FileIdentity) {
        self.role = role
        self.path = path
        self.identity = identity
    }

    /// Whether the path now names another file, a file with other contents, or none.
    public var hasChanged: Bool { FileIdentity(path: path) != identity }
}

/// Whether a command can be prewarmed. A wrong "eligible" would run the command for real.
public enum Eligibility: Equatable, Sendable {
    case eligible
    case ineligible(IneligibilityReason)

    public var reason: IneligibilityReason? {
        switch self {
        case .eligible: nil
        case .ineligible(let reason): reason
        }
    }
}
