/// Where an instance stands. The raw values are kept in the runtime state: never renumber.
public enum ExecutionState: UInt8, CaseIterable, Sendable {
    /// No process is left; only the record of its end.
    case notRunning = 0
    /// Its launch sequence runs towards the pause point.
    case prewarming = 1
    /// Paused before application-main, never yet launched.
    case prewarmed = 2
    /// Asked to run; its ready condition is not yet met.
    case launching = 3
    /// In the foreground group, receiving no input: the way in and out of `active`.
    case inactive = 4
    /// The one in front.
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
    /// A paused instance was resumed.
    case prewarmed = 1
    /// A suspended instance was thawed.
    case resume = 2
    /// It was running already and came to the front.
    case foreground = 3
}

/// Why a launch was not served from a paused instance.
public enum ColdReason: UInt8, CaseIterable, Sendable {
    /// The manifest asks for no prewarming.
    case prewarmingDisabled = 0
    /// The program cannot be paused (`explain` has the details).
    case ineligible = 1
    /// None is ready: never prewarmed, or just used.
    case noneReady = 2
    /// What programs read before main differs from the paused instance's.
    case environmentMismatch = 3
    /// The executable, a library or the manifest changed.
    case stale = 4
    /// Prewarms or launches of this app failed lately.
    case backOff = 5
    /// A paused instance was tried and did not start.
    case resumeFailed = 6
    /// The memory of its paused instances was taken back.
    case reclaimed = 7
    /// The launch brings what no paused instance can take over.
    case callerState = 8
}

/// Why an instance ended. Raw values are kept in the runtime state.
public enum ExitReason: UInt8, CaseIterable, Sendable {
    /// It ended by itself with a status, by a signal that ends programs in everyday use (HUP, INT, PIPE,
    /// TERM; `ExitStatusSet.clean`), or by one that a client had sent to it.
    case exitedSelf = 0
    /// Any other signal that nobody here sent.
    case crashed = 1
    /// It was asked to end and did.
    case terminated = 2
    /// It was asked to end, did not within its grace, and was killed.
    case terminateTimeout = 3
    /// A client force-quit it.
    case forceQuit = 4
    /// Its ready condition was not met by the launch deadline (UIKit's 0x8badf00d).
    case launchWatchdog = 5
    /// It did not reach the pause point in time, or left the pause by itself.
    case prewarmFailed = 6
    /// It was prewarmed longer than its time to live.
    case prewarmExpired = 7
    /// What it was prewarmed from changed.
    case stale = 8
    /// Its memory was wanted.
    case reclaimed = 9
    /// The prewarm pool shrank: budget, manifest change or removal.
    case poolTrimmed = 10
    /// Told to start, it did not say so in time.
    case resumeFailed = 11
    /// The daemon is shutting down.
    case shutdown = 12
    /// The program could not be executed.
    case spawnFailed = 13
    /// The spawner died, so nobody saw how it ended.
    case unknown = 14
    /// Another app was launched that it conflicts with.
    case conflict = 15
    /// A client ended an app that it requires.
    case dependencyEnded = 16
    /// It did not acknowledge a change of state in time (UIKit's 0x8badf00d).
    case watchdog = 20
    /// It held a file lock when it was to be suspended, and its grace was over (0xdead10cc).
    case suspendedWithLockedFile = 30
    /// The kernel ended it for want of memory.
    case outOfMemory = 31
    /// SIGKILL that nobody here sent, while the kernel ended somebody for want of memory.
    case probablyOutOfMemory = 32
    /// Its background time was over and a task of it had not ended (0x2182bad2).
    case backgroundTaskTimeout = 40
}

extension ExitReason {
    /// The kernel's out-of-memory killer, surely or probably.
    public var isForMemory: Bool { self == .outOfMemory || self == .probablyOutOfMemory }
}

/// How the main process of an instance ended (wait(2)).
public enum ExitStatus: Hashable, Sendable {
    case exited(UInt8)
    case signaled(UInt8, coreDumped: Bool)
    /// It is gone and nobody could read its status.
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
