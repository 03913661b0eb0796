/// What running a command means, found out without running it.
public struct ExecutableFacts: Equatable, Sendable {
    /// The file that exec is called with: the name, looked up.
    public var path: String
    /// Every file that the kernel and `env` go through, in order: scripts, wrappers, the
    /// executable, its ELF interpreter. A change of any makes a paused instance stale.
    public var files: [InspectedFile]
    /// Real path of the executable that ends up running, as `/proc/PID/exe` will show it.
    public var executable: String
    /// What stands before the caller's own arguments in the executable's argv, when it is not just
    /// the program's name: interpreter, its option, script.
    public var argumentPrefix: [String]?
    public var eligibility: Eligibility
}

/// One file that a command consists of.
public struct InspectedFile: Equatable, Sendable {
    public enum Role: String, Sendable, CaseIterable {
        case script
        /// `env`, which only passes on.
        case wrapper
        case executable
        /// The dynamic linker that the executable names.
        case loader
    }

    public var role: Role
    /// As it was named; links are followed anew at each comparison.
    public var path: String
    public var identity: FileIdentity

    public init(role: Role, path: String, identity: FileIdentity) {
        self.role = role
        self.path = path
        self.identity = identity
    }

    /// Whether the path names another file by now, a file with other contents, or none.
    public var hasChanged: Bool { FileIdentity(path: path) != identity }
}

/// Whether a command can be prewarmed: a mistake would run it for real.
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
