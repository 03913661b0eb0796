internal import GreenroomControl
internal import GreenroomLifecycle

// The core and the interface have the same words, but neither module knows the other. Exhaustive
// switches make the compiler ask for the counterpart when one of them gains a word.

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
        case .startedAnew: self = .startedAnew
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
        case .goFailed: self = .resumeFailed
        case .reclaimed: self = .reclaimed
        case .callerState: self = .callerState
        case .arguments: self = .arguments
        case .appearanceChanged: self = .appearanceChanged
        case .fileChanged: self = .fileChanged
        }
    }
}

extension Control.ExitReason {
    init(_ reason: ExitReason) {
        guard let spelled = Self(rawValue: reason.row.word) else {
            preconditionFailure("the interface has no word for \(reason)")
        }
        self = spelled
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
    /// The name of the callback in UIKit.
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
        case .interrupt: self = .interrupt
        case .endInterruption: self = .endInterruption
        case .terminate: self = .terminate
        case .kill: self = .forceQuit
        }
    }

    /// The state that the transition leads to, for the message about an illegal one.
    var destination: Control.ExecutionState {
        switch self {
        case .foreground, .endInterruption: .active
        case .interrupt: .inactive
        case .background, .resume: .background
        case .suspend: .suspended
        case .terminate, .forceQuit: .terminating
        }
    }
}

extension Control.ExitRecord {
    init(_ record: InstanceRecord) {
        self.init(
            reason: Control.ExitReason(record.endReason ?? .unknown),
            timestampUSec: WallClock.microseconds(at: record.endedAt ?? record.since))
        lastState = record.lastState.map { .known(.init($0)) }
        switch record.exitStatus {
        case .exited(let status)?: self.status = status
        case .signaled(let signal, let coreDumped)?:
            self.signal = Int32(signal)
            self.coreDumped = coreDumped
        case .unknown?, nil: break
        }
    }
}

extension Control.TaskKind {
    init(_ kind: ScheduledTask.Kind) {
        switch kind {
        case .appRefresh: self = .appRefresh
        case .processing: self = .processing
        }
    }
}

extension Control.TaskOutcome {
    init(_ outcome: RunOutcome) {
        switch outcome {
        case .succeeded: self = .succeeded
        case .failed: self = .failed
        case .unhandled: self = .unhandled
        case .expired: self = .expired
        case .ended: self = .ended
        }
    }
}
