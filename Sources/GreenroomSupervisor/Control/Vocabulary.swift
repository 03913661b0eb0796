internal import GreenroomControl
internal import GreenroomLifecycle

// The core's words and the interface's are the same, but neither module knows the other. Exhaustive
// switches make the compiler ask for the other half when one of them gains a word.

extension Control.ExecutionState {
    init(_ state: ExecutionState) {
        switch state {
        case .notRunning: self = .notRunning
        case .prewarming: self = .prewarming
        case .prewarmed: self = .prewarmed
        case .launching: self = .launching
        case .inactive: self = .inactive
        case .active: self = .active
        case .background: self = .background
        case .suspended: self = .suspended
        case .terminating: self = .terminating
        }
    }
}

extension Control.LaunchKind {
    init(_ kind: LaunchKind) {
        switch kind {
        case .cold: self = .cold
        case .prewarmed: self = .prewarmed
        case .resume: self = .resume
        case .foreground: self = .foreground
        }
    }
}

extension Control.ColdReason {
    init(_ reason: ColdReason) {
        switch reason {
        case .prewarmingDisabled: self = .prewarmingDisabled
        case .ineligible: self = .ineligible
        case .noneReady: self = .noneReady
        case .environmentMismatch: self = .environmentMismatch
        case .stale: self = .stale
        case .backOff: self = .backOff
        case .resumeFailed: self = .resumeFailed
        case .reclaimed: self = .reclaimed
        case .callerState: self = .callerState
        }
    }
}

extension Control.ExitReason {
    init(_ reason: ExitReason) {
        switch reason {
        case .exitedSelf: self = .exitedSelf
        case .crashed: self = .crashed
        case .terminated: self = .terminated
        case .terminateTimeout: self = .terminateTimeout
        case .forceQuit: self = .forceQuit
        case .launchWatchdog: self = .launchWatchdog
        case .prewarmFailed: self = .prewarmFailed
        case .prewarmExpired: self = .prewarmExpired
        case .stale: self = .stale
        case .reclaimed: self = .reclaimed
        case .poolTrimmed: self = .poolTrimmed
        case .resumeFailed: self = .resumeFailed
        case .shutdown: self = .shutdown
        case .spawnFailed: self = .spawnFailed
        case .unknown: self = .unknown
        case .conflict: self = .conflict
        case .dependencyEnded: self = .dependencyEnded
        case .watchdog: self = .watchdog
        case .suspendedWithLockedFile: self = .suspendedWithLockedFile
        case .outOfMemory: self = .outOfMemory
        case .probablyOutOfMemory: self = .probablyOutOfMemory
        case .backgroundTaskTimeout: self = .backgroundTaskTimeout
        }
    }
}

extension Control.MemoryPressure {
    init(_ pressure: MemoryPressure) {
        switch pressure {
        case .none: self = .none
        case .warning: self = .warning
        case .critical: self = .critical
        }
    }
}

extension MemoryPressure {
    init(_ pressure: Control.MemoryPressure) {
        switch pressure {
        case .none: self = .none
        case .warning: self = .warning
        case .critical: self = .critical
        }
    }
}

extension Control.ActivationState {
    init(_ state: ActivationState) {
        switch state {
        case .unattached: self = .unattached
        case .foregroundActive: self = .foregroundActive
        case .foregroundInactive: self = .foregroundInactive
        case .background: self = .background
        }
    }
}

extension LifecycleStep {
    /// As UIKit names the callback.
    var name: String {
        switch self {
        case .connect, .connectInBackground: "willConnect"
        case .willEnterForeground: "willEnterForeground"
        case .didBecomeActive: "didBecomeActive"
        case .willResignActive: "willResignActive"
        case .didEnterBackground: "didEnterBackground"
        case .disconnect: "didDisconnect"
        case .willTerminate: "willTerminate"
        }
    }
}

extension Control.Target {
    init(_ target: Target) {
        switch target {
        case .app(let app): self = .app(app.rawValue)
        case .instance(let instance): self = .instance(instance.rawValue)
        }
    }
}

extension Target {
    init(_ target: Control.Target) {
        switch target {
        case .app(let app): self = .app(AppIdentifier(app))
        case .instance(let instance): self = .instance(InstanceIdentifier(instance))
        }
    }
}

extension Transition {
    init(_ transition: Control.Transition) {
        switch transition {
        case .foreground: self = .foreground
        case .background: self = .background
        case .suspend: self = .suspend
        case .resume: self = .resume
        case .terminate: self = .terminate
        case .kill: self = .forceQuit
        }
    }

    /// The state that it leads to, for the message of an illegal one.
    var destination: Control.ExecutionState {
        switch self {
        case .foreground: .active
        case .background, .resume: .background
        case .suspend: .suspended
        case .terminate, .forceQuit: .terminating
        }
    }
}
