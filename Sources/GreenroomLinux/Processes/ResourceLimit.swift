internal import Glibc

/// One limit of a process (setrlimit(2)).
public struct ResourceLimit: Hashable, Sendable {
    /// The limits of systemd's `Limit…=` settings; the raw value is the kernel's.
    public enum Resource: CInt, CaseIterable, Sendable {
        case cpu = 0
        case fileSize = 1
        case data = 2
        case stack = 3
        case core = 4
        case residentSet = 5
        case processes = 6
        case openFiles = 7
        case lockedMemory = 8
        case addressSpace = 9
        case locks = 10
        case pendingSignals = 11
        case messageQueue = 12
        case nice = 13
        case realtimePriority = 14
        case realtimeTime = 15
    }

    /// No limit (RLIM_INFINITY).
    public static let unlimited = UInt64.max

    public var resource: Resource
    /// In bytes, seconds, microseconds or a count, depending on the resource.
    public var soft: UInt64
    public var hard: UInt64

    public init(_ resource: Resource, soft: UInt64, hard: UInt64) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }

    /// Sets this process's soft and hard limit to `hard`, if the kernel permits it (setrlimit). A
    /// failure is ignored, because reaching the limit will be reported.
    public func raiseSoft() {
        var limit = rlimit()
        limit.rlim_cur = rlim_t(hard)
        limit.rlim_max = rlim_t(hard)
        _ = unsafe setrlimit(__rlimit_resource_t(UInt32(resource.rawValue)), &limit)
    }

    /// The limit of this process (getrlimit).
    public static func current(_ resource: Resource) -> ResourceLimit {
        var limit = rlimit()
        // This cannot fail: the resource exists and the memory is valid.
        _ = unsafe getrlimit(__rlimit_resource_t(UInt32(resource.rawValue)), &limit)
        return ResourceLimit(resource, soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
    }
}
