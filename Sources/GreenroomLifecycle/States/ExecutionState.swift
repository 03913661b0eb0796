/// The state of an instance, as clients see it and records keep it. The raw values are kept in the
/// runtime state: never renumber.
public enum ExecutionState: UInt8, CaseIterable, Sendable {
    /// No process is left, only the record of the end.
    case notRunning = 0
    /// On its way to the pause point.
    case prewarming = 1
    /// Paused before main; not launched yet.
    case prewarmed = 2
    /// Asked to run; its ready condition is not yet met.
    case launching = 3
    /// In front, but receiving no input: on the way to or from `active`.
    case inactive = 4
    /// In front of its group.
    case active = 5
    /// Running, not in front.
    case background = 6
    /// Frozen.
    case suspended = 7
    /// Asked to end, or being ended.
    case terminating = 8
}

/// How a launch was served. Raw values are kept in the runtime state.
public enum LaunchKind: UInt8, Sendable {
    /// Executed from the file.
    case cold = 0
    /// A paused instance was told to go for it.
    case prewarmed = 1
    /// A suspended instance was thawed for it.
    case resume = 2
    /// An instance that was running already came to the front.
    case foreground = 3
    /// A paused instance was told to go for it, and executed the launch's words in its own process.
    case startedAnew = 4
}

/// Why a launch was not served from a paused instance.
public enum ColdReason: UInt8, CaseIterable, Sendable {
    /// The manifest asks for no prewarming.
    case prewarmingDisabled = 0
    /// The program cannot be paused (`explain` has the details).
    case ineligible = 1
    /// No instance is paused: none was prewarmed yet, or the last one was just used.
    case noneReady = 2
    /// What programs read before main differs from what the paused instance has read.
    case environmentMismatch = 3
    /// The executable, a library or the manifest changed.
    case stale = 4
    /// Prewarms or launches of this app failed lately.
    case backOff = 5
    /// A paused instance was told to go and did not start, or could not have taken the launch's
    /// terminal (`AppDescription.isColdOnTerminal`).
    case goFailed = 6
    /// The memory of the app's paused instances was reclaimed.
    case reclaimed = 7
    /// The launch brings something that no paused instance can take over.
    case callerState = 8
    /// The launch brings arguments, and the paused instance was started without any.
    case arguments = 9
    /// The scale, the theme or the font of the display changed.
    case appearanceChanged = 10
    /// A file of settings changed that the held program had read.
    case fileChanged = 11
}

/// What has changed since a paused instance was made.
public enum Staleness: Hashable, Sendable {
    /// The executable, a library or the manifest; or nobody watches the names of a held program.
    case program
    /// The scale, the theme or the font of the display of a held program.
    case appearance
    /// A file of settings that a held program had read before it was told to go.
    case readFile

    var coldReason: ColdReason {
        switch self {
        case .program: .stale
        case .appearance: .appearanceChanged
        case .readFile: .fileChanged
        }
    }
}

/// How the main process of an instance ended (wait(2)).
public enum ExitStatus: Hashable, Sendable {
    case exited(UInt8)
    case signaled(UInt8, coreDumped: Bool)
    /// The process is gone, and nobody could read its status.
    case unknown
}

/// The stage at which a spawn failed and the kernel's `errno`, for example
/// ("entering cgroup", EACCES).
public struct SpawnFailure: Hashable, Sendable {
    public let stage: String
    public let errno: Int32
    public init(stage: String, errno: Int32) {
        self.stage = stage
        self.errno = errno
    }
}
