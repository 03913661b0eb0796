internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle

extension MetricExit {
    /// The category of an end; nil if the end was not the app's own: the app never ran, or nobody
    /// saw how it ended.
    init?(_ record: InstanceRecord) {
        guard record.launchedAt != nil, let reason = record.endReason else { return nil }
        switch reason.row.metric {
        case .nothing: return nil
        case .normal: self = .normal
        case .byStatus: self = Self.byStatus(record.exitStatus)
        case .bySignal: self = Self.bySignal(record.exitStatus)
        case .watchdog: self = .watchdog
        case .memory: self = .memoryPressure
        case .memoryOrLimit: self = record.wasOverOwnLimit ? .memoryLimit : .memoryPressure
        case .lockedFile: self = .suspendedWithLockedFile
        case .backgroundTask: self = .backgroundTaskTimeout
        }
    }

    private static func byStatus(_ status: ExitStatus?) -> Self {
        switch status {
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
