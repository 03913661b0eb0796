internal import Glibc

/// A trigger of pressure stall information (Documentation/accounting/psi): its descriptor reports
/// POLLPRI, at most once in a window, when tasks stalled for longer than the threshold in it.
public struct PressureTrigger: Sendable {
    public enum Stall: String, Sendable {
        /// At least one task.
        case some
        /// All that were not idle.
        case full
    }

    public let descriptor: FileDescriptor
    public let window: Duration

    /// - Parameters:
    ///   - path: `/proc/pressure/memory`, or `memory.pressure` of a cgroup.
    ///   - threshold: of each second. Without CAP_SYS_RESOURCE the kernel takes windows of a multiple
    ///     of two seconds only; then both are doubled.
    /// - Throws: `ENOENT` without PSI, `EOPNOTSUPP` when it was disabled at boot.
    public init(_ stall: Stall, of path: String, threshold: Duration) throws(SystemError) {
        try self.init(stall, threshold) { () throws(SystemError) in
            try FileDescriptor.open(path, O_RDWR | O_NONBLOCK)
        }
    }

    /// - Parameter file: such as `memory.pressure`.
    public init(
        _ stall: Stall, of file: String, in cgroup: Cgroup, threshold: Duration
    ) throws(SystemError) {
        try self.init(stall, threshold) { () throws(SystemError) in
            try cgroup.directory.open(file, O_RDWR | O_NONBLOCK)
        }
    }

    private init(
        _ stall: Stall, _ threshold: Duration, _ open: () throws(SystemError) -> FileDescriptor
    ) throws(SystemError) {
        do {
            try self.init(stall, try open(), threshold, window: .seconds(1))
        } catch {
            guard error.code == EINVAL || error.code == EPERM else { throw error }
            try self.init(stall, try open(), threshold * 2, window: .seconds(2))
        }
    }

    private init(
        _ stall: Stall, _ file: FileDescriptor, _ threshold: Duration, window: Duration
    ) throws(SystemError) {
        descriptor = file
        self.window = window
        let threshold = min(max(threshold, .milliseconds(1)), window)
        let text = "\(stall.rawValue) \(threshold.wholeMicroseconds) \(window.wholeMicroseconds)\0"
        try descriptor.writeText(text)
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
