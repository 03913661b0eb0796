internal import CGreenroomLinux
public import Glibc

/// How a process ended.
public enum TerminationStatus: Hashable, Sendable, CustomStringConvertible {
    /// The process ended by itself with this status (0–255).
    case exited(CInt)
    /// A signal ended the process.
    case signaled(CInt, coreDumped: Bool)
    /// The process was not our child, and the kernel does not tell (before 6.15).
    case unknown

    /// Makes the status from `si_code` and `si_status` of waitid(2).
    init(code: CInt, status: CInt) {
        switch code {
        case CLD_EXITED_VALUE: self = .exited(status)
        default: self = .signaled(status, coreDumped: code == CLD_DUMPED_VALUE)
        }
    }

    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signaled(let signal, let coreDumped):
            "ended by signal \(signal)\(coreDumped ? " (core dumped)" : "")"
        case .unknown: "ended in an unknown way"
        }
    }
}

/// CLD_EXITED and the like of waitid(2): Swift imports the C enumeration differently on each
/// platform.
private let CLD_EXITED_VALUE: CInt = 1
private let CLD_DUMPED_VALUE: CInt = 3
private let CLD_TRAPPED_VALUE: CInt = 4

/// A process, identified by its pidfd, which never comes to mean another process with the same
/// number. The descriptor is readable when the process has ended.
public struct ProcessDescriptor: Sendable {
    public let descriptor: FileDescriptor

    public init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// Opens the process that has this number now (pidfd_open).
    public init(pid: pid_t) throws(SystemError) {
        descriptor = FileDescriptor(
            owning: try systemCall("pidfd_open", on: "\(pid)") { gr_pidfd_open(pid) })
    }

    /// The number that no other process has until the next boot: the inode of its pidfd (fstat(2)).
    /// Before Linux 6.9, all pidfds have the same.
    public var inode: UInt64? {
        var status = stat()
        return unsafe fstat(descriptor.rawValue, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Whether this process may take descriptors out of that process's table (pidfd_getfd).
    public var letsFetch: Bool { gr_can_fetch(descriptor.rawValue) }

    /// Sends a signal (pidfd_send_signal); 0 only checks whether sending would be allowed.
    ///
    /// - Returns: false if the process has ended and was waited for.
    @discardableResult
    public func send(signal: CInt) throws(SystemError) -> Bool {
        do {
            try systemCall("pidfd_send_signal") {
                gr_pidfd_send_signal(descriptor.rawValue, signal)
            }
            return true
        } catch {
            if error.code == ESRCH { return false }
            throw error
        }
    }

    /// Waits until a child of ours ends, and reaps it (waitid P_PIDFD).
    public func wait() throws(SystemError) -> TerminationStatus {
        var code: CInt = 0
        var status: CInt = 0
        try systemCall("waitid") { unsafe gr_pidfd_wait(descriptor.rawValue, &code, &status) }
        return TerminationStatus(code: code, status: status)
    }
}

/// The children of this process, including orphans that a subreaper inherits.
public enum Children {
    /// Makes orphaned descendants children of this process instead of init's (prctl
    /// PR_SET_CHILD_SUBREAPER).
    public static func becomeSubreaper() throws(SystemError) {
        try systemCall("prctl") { gr_subreaper() }
    }

    /// What happened to one child.
    public enum Change: Hashable, Sendable {
        /// The child has ended.
        case ended(TerminationStatus)
        /// A thread that we trace has stopped, and stays stopped until we let it continue.
        case stopped(Tracee.Stop)
    }

    /// The next change of any child, which can still be taken: an ended child stays a zombie
    /// (waitid P_ALL, WNOWAIT). Nil if there is none, or no child is left.
    public static func nextChange() throws(SystemError) -> (pid: pid_t, change: Change)? {
        var code: CInt = 0
        var status: CInt = 0
        do {
            let pid = try systemCall("waitid") { unsafe gr_wait_any(&code, &status) }
            if pid == 0 { return nil }
            if code == CLD_TRAPPED_VALUE { return (pid, .stopped(Tracee.Stop(status: status))) }
            return (pid, .ended(TerminationStatus(code: code, status: status)))
        } catch {
            if error.code == ECHILD { return nil }
            throw error
        }
    }

    /// Takes the change of this child, and so reaps it if it has ended (waitpid); nil if the child
    /// was stopped and has been killed in the meantime.
    public static func take(_ pid: pid_t) throws(SystemError) -> Change? {
        var status: CInt = 0
        let wall: CInt = 0x4000_0000  // __WALL
        let taken = unsafe waitpid(pid, &status, WNOHANG | wall)
        if taken < 0 {
            // The thread has executed a program in the meantime, and so has another number.
            if errno == ECHILD { return nil }
            throw SystemError(code: errno, call: "waitpid")
        }
        if taken == 0 { return nil }
        if status & 0xff == 0x7f { return .stopped(Tracee.Stop(status: status >> 8)) }
        return .ended(TerminationStatus(waitStatus: status))
    }
}
