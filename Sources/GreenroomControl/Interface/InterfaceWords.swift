// The words of the interface. The cases have the same names as in the core; the interface
// description says what they mean.

extension Control {
    /// The state of an instance.
    public enum ExecutionState: String, CaseIterable, Sendable {
        case notRunning = "not_running"
        case prewarming
        case prewarmed
        case launching
        case inactive
        case active
        case background
        case suspended
        case terminating
    }

    /// How a launch was served.
    public enum LaunchKind: String, CaseIterable, Sendable {
        case cold
        case prewarmed
        case resume
        case foreground
        case startedAnew = "started_anew"
    }

    /// Why a launch was started anew.
    public enum AnewReason: String, CaseIterable, Sendable {
        case options
        case program
        case hiddenModule = "hidden_module"
        case changed
        case environment
        case signals
        case failed
    }

    /// How far an app is prewarmed.
    public enum PrewarmDepth: String, CaseIterable, Sendable {
        case main
        case libraries
        case runtime
        case window
        case declared
    }

    /// Why a launch was not served by a paused instance.
    public enum ColdReason: String, CaseIterable, Sendable {
        case prewarmingDisabled = "prewarming_disabled"
        case ineligible
        case noneReady = "none_ready"
        case environmentMismatch = "environment_mismatch"
        case stale
        case backOff = "back_off"
        case resumeFailed = "resume_failed"
        case reclaimed
        case callerState = "caller_state"
        case arguments
        case appearanceChanged = "appearance_changed"
        case fileChanged = "file_changed"
    }

    /// Why an instance ended.
    public enum ExitReason: String, CaseIterable, Sendable {
        case exitedSelf = "exited_self"
        case crashed
        case terminated
        case terminateTimeout = "terminate_timeout"
        case forceQuit = "force_quit"
        case launchWatchdog = "launch_watchdog"
        case prewarmFailed = "prewarm_failed"
        case prewarmExpired = "prewarm_expired"
        case stale
        case reclaimed
        case poolTrimmed = "pool_trimmed"
        case resumeFailed = "resume_failed"
        case shutdown
        case spawnFailed = "spawn_failed"
        case unknown
        case conflict
        case dependencyEnded = "dependency_ended"
        case watchdog
        case suspendedWithLockedFile = "suspended_with_locked_file"
        case outOfMemory = "out_of_memory"
        case probablyOutOfMemory = "probably_out_of_memory"
        case backgroundTaskTimeout = "background_task_timeout"
    }

    /// What an event reports. The kind decides which members the event has.
    public enum EventKind: String, CaseIterable, Sendable {
        case stateChanged = "state_changed"
        case launched
        case exited
        case reclaimed
        case prewarmFailed = "prewarm_failed"
        case crashLooped = "crash_looped"
        case appsChanged = "apps_changed"
        case restartScheduled = "restart_scheduled"
        case failed
        case sceneChanged = "scene_changed"
        case slowStep = "slow_step"
        case missedStep = "missed_step"
        case launchStep = "launch_step"
        case pressureChanged = "pressure_changed"
        case eventsLost = "events_lost"
        case stateKept = "state_kept"
        case stateRefused = "state_refused"
        case stateDeleted = "state_deleted"
        case launchScreenShown = "launch_screen_shown"
        case launchScreenDropped = "launch_screen_dropped"
        case pagedOut = "paged_out"
        case backgroundTimeExpiring = "background_time_expiring"
        case taskBegan = "task_began"
        case taskEnded = "task_ended"
    }

    /// The state of a scene (UIScene.ActivationState).
    public enum ActivationState: String, CaseIterable, Sendable {
        case unattached
        case foregroundActive = "foreground_active"
        case foregroundInactive = "foreground_inactive"
        case background
    }

    /// How short memory is.
    public enum MemoryPressure: String, CaseIterable, Sendable {
        case none
        case warning
        case critical
    }

    /// A change of an instance's state that a client can ask for. Each is a method.
    public enum Transition: String, CaseIterable, Sendable {
        case foreground = "Foreground"
        case background = "Background"
        case suspend = "Suspend"
        case resume = "Resume"
        case interrupt = "Interrupt"
        case endInterruption = "EndInterruption"
        case terminate = "Terminate"
        case kill = "Kill"
    }

    /// The instance that a call acts on.
    public enum Target: Hashable, Sendable {
        /// The most recently used running instance of this app.
        case app(String)
        case instance(UInt64)
    }
}

extension Control.ExitReason {
    /// The reason in words for people, and whether it means a failure.
    public var row: (words: String, isBad: Bool) {
        switch self {
        case .exitedSelf: ("exited", false)
        case .crashed: ("crashed", true)
        case .terminated: ("terminated", false)
        case .terminateTimeout: ("killed: did not end when asked", true)
        case .forceQuit: ("killed", false)
        case .launchWatchdog: ("killed: not ready in time", true)
        case .prewarmFailed: ("could not be prewarmed", true)
        case .prewarmExpired: ("prewarmed too long", false)
        case .stale: ("program changed", false)
        case .reclaimed: ("memory was needed", false)
        case .poolTrimmed: ("no longer wanted", false)
        case .resumeFailed: ("did not start", true)
        case .shutdown: ("shutdown", false)
        case .spawnFailed: ("could not be executed", true)
        case .unknown: ("ended", true)
        case .conflict: ("ended for another app", false)
        case .dependencyEnded: ("ended with an app it requires", false)
        case .watchdog: ("killed: did not answer in time", true)
        case .suspendedWithLockedFile: ("killed: held a file lock in the background", true)
        case .outOfMemory: ("killed by the kernel: out of memory", true)
        case .probablyOutOfMemory: ("killed, probably by the kernel: out of memory", true)
        case .backgroundTaskTimeout: ("killed: a background task had not ended", true)
        }
    }
}
