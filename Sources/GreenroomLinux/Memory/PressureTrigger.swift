internal import Glibc

/// A trigger of pressure stall information (Documentation/accounting/psi). Its descriptor reports
/// POLLPRI, at most once per window, when tasks stalled for longer than the threshold in that
/// window.
public struct PressureTrigger: Sendable {
    public enum Stall: String, Sendable {
        /// At least one task stalled.
        case some
        /// All tasks that were not idle stalled.
        case full
    }

    public let descriptor: FileDescriptor
    public let window: Duration
    private let stall: Stall
    private let threshold: Duration
    /// The total stall time when the trigger was made.
    private let totalBefore: Duration

    /// - Parameters:
    ///   - path: `/proc/pressure/memory`, or `memory.pressure` of a cgroup.
    ///   - threshold: the stall time in each second. Without CAP_SYS_RESOURCE the kernel accepts
    ///     only windows of a multiple of two seconds; then window and threshold are doubled.
    ///   - stranger: whose disposer closes the trigger. The kernel takes a grace period of RCU for
    ///     that: 10 to 31 ms.
    /// - Throws: `ENOENT` without PSI, `EOPNOTSUPP` if it was disabled at boot.
    public init(
        _ stall: Stall, of path: String, threshold: Duration, closedBy stranger: Stranger
    ) throws(SystemError) {
        try self.init(stall, threshold, stranger) { () throws(SystemError) in
            try FileDescriptor.open(path, O_RDWR | O_NONBLOCK)
        }
    }

    /// - Parameter file: a file of the cgroup, such as `memory.pressure`.
    public init(
        _ stall: Stall, of file: String, in cgroup: Cgroup, threshold: Duration,
        closedBy stranger: Stranger
    ) throws(SystemError) {
        try self.init(stall, threshold, stranger) { () throws(SystemError) in
            try cgroup.directory.open(file, O_RDWR | O_NONBLOCK)
        }
    }

    private init(
        _ stall: Stall, _ threshold: Duration, _ stranger: Stranger,
        _ open: () throws(SystemError) -> FileDescriptor
    ) throws(SystemError) {
        do {
            try self.init(stall, try open(), threshold, window: .seconds(1), stranger)
        } catch {
            guard error.code == EINVAL || error.code == EPERM else { throw error }
            try self.init(stall, try open(), threshold * 2, window: .seconds(2), stranger)
        }
    }

    private init(
        _ stall: Stall, _ file: FileDescriptor, _ threshold: Duration, window: Duration,
        _ stranger: Stranger
    ) throws(SystemError) {
        descriptor = file.given(to: stranger, .slow)
        self.stall = stall
        self.window = window
        self.threshold = min(max(threshold, .milliseconds(1)), window)
        totalBefore = try Self.total(of: stall, descriptor)
        let (stalled, inAll) = (self.threshold.wholeMicroseconds, window.wholeMicroseconds)
        try descriptor.writeText("\(stall.rawValue) \(stalled) \(inAll)\0")
    }

    /// Whether a report can be true. Without CAP_SYS_RESOURCE, the first windows count all stalls
    /// since boot if nobody had a trigger before (Linux 6.5 to 6.18: psi_trigger_create starts from
    /// another counter than update_triggers).
    public var isTrue: Bool {
        guard let total = try? Self.total(of: stall, descriptor) else { return true }
        return total - totalBefore >= threshold
    }

    /// The total in lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=2143124`, in
    /// microseconds.
    private static func total(
        of stall: Stall, _ file: FileDescriptor
    ) throws(SystemError) -> Duration {
        for line in try file.readText().split(separator: "\n")
        where line.hasPrefix(stall.rawValue + " ") {
            guard let word = line.split(separator: " ").last, word.hasPrefix("total="),
                let microseconds = Int64(word.dropFirst(6))
            else { continue }
            return .microseconds(microseconds)
        }
        throw SystemError(code: EINVAL, call: "read", subject: "pressure stall information")
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
