internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle

extension MetricExit {
    /// What an end counts as; nil for one that is none of the app's: it never ran, or nobody saw how it
    /// ended.
    init?(_ record: InstanceRecord) {
        guard record.launchedAt != nil, let reason = record.endReason else { return nil }
        switch reason {
        case .exitedSelf, .terminated, .forceQuit, .shutdown, .conflict, .dependencyEnded:
            self = Self.byItself(reason, record.exitStatus)
        case .crashed: self = Self.bySignal(record.exitStatus)
        case .terminateTimeout, .launchWatchdog, .watchdog: self = .watchdog
        case .reclaimed, .probablyOutOfMemory: self = .memoryPressure
        case .outOfMemory: self = record.wasOverOwnLimit ? .memoryLimit : .memoryPressure
        case .suspendedWithLockedFile: self = .suspendedWithLockedFile
        case .backgroundTaskTimeout: self = .backgroundTaskTimeout
        case .prewarmFailed, .prewarmExpired, .stale, .poolTrimmed, .resumeFailed, .spawnFailed,
            .unknown:
            return nil
        }
    }

    /// Who was asked to end has done so, whatever it returned.
    private static func byItself(_ reason: ExitReason, _ status: ExitStatus?) -> Self {
        guard reason == .exitedSelf else { return .normal }
        return switch status {
        case .exited(0)?, .signaled?: .normal
        case .exited?, .unknown?, nil: .abnormal
        }
    }

    private static func bySignal(_ status: ExitStatus?) -> Self {
        guard case .signaled(let signal, _) = status else { return .abnormal }
        switch Int32(signal) {
        case SIGSEGV, SIGBUS: return .badAccess
        case SIGILL, SIGTRAP: return .illegalInstruction
        case SIGXCPU: return .cpuLimit
        case _: return .abnormal
        }
    }
}

extension ExitReason {
    /// An end that its developer wants to hear of.
    var isDiagnosed: Bool {
        switch self {
        case .crashed, .terminateTimeout, .launchWatchdog, .watchdog, .suspendedWithLockedFile,
            .backgroundTaskTimeout:
            true
        case .exitedSelf, .terminated, .forceQuit, .prewarmFailed, .prewarmExpired, .stale,
            .reclaimed, .poolTrimmed, .resumeFailed, .shutdown, .spawnFailed, .unknown, .conflict,
            .dependencyEnded, .outOfMemory, .probablyOutOfMemory:
            false
        }
    }
}
