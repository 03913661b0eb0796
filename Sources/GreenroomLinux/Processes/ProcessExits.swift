internal import CGreenroomLinux
internal import Glibc

extension ProcessDescriptor {
    /// What a process that is not the parent can learn about a process's end.
    public enum Exit: Hashable, Sendable {
        case known(TerminationStatus)
        /// The process is running, or its parent has not reaped it yet. Ask again.
        case pending
        /// The kernel does not tell (Linux before 6.15).
        case untold
    }

    /// How the process ended, which need not be a child of ours (PIDFD_GET_INFO of ioctl_pidfd(2)).
    public var exit: Exit {
        var status: CInt = 0
        return switch unsafe gr_pidfd_exit(descriptor.rawValue, &status) {
        case 1: .known(TerminationStatus(waitStatus: status))
        case 0: .pending
        default: .untold
        }
    }
}

extension TerminationStatus {
    /// Makes the status from the status that wait(2) returns.
    init(waitStatus status: CInt) {
        let signal = status & 0x7f
        self =
            signal == 0
            ? .exited(status >> 8 & 0xff) : .signaled(signal, coreDumped: status & 0x80 != 0)
    }
}

/// Reports which of many processes have ended, through one descriptor (epoll(7)).
public final class ProcessExits: Sendable {
    /// Readable when ``next()`` has something.
    public let descriptor: FileDescriptor

    public init() throws(SystemError) {
        descriptor = FileDescriptor(owning: try systemCall("epoll_create1") { gr_epoll() })
    }

    /// Watches a process until the last copy of its descriptor is closed.
    public func watch(_ process: ProcessDescriptor, key: UInt64) throws(SystemError) {
        try systemCall("epoll_ctl") {
            gr_epoll_add(descriptor.rawValue, process.descriptor.rawValue, key)
        }
    }

    /// The key of a process that has ended or, later, has been reaped; nil if there is none.
    public func next() throws(SystemError) -> UInt64? {
        var key: UInt64 = 0
        let count = try systemCall("epoll_wait") {
            unsafe gr_epoll_next(descriptor.rawValue, &key)
        }
        return count == 1 ? key : nil
    }
}
