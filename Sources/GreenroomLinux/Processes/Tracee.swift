internal import CGreenroomLinux
public import Glibc

/// A thread of another process that we trace (ptrace(2)). All calls but ``stop(of:)`` are for one that is
/// stopped; one that has been killed meanwhile is passed over, for its end is reported anyway.
public struct Tracee: Hashable, Sendable {
    public let thread: pid_t

    public init(_ thread: pid_t) { self.thread = thread }

    /// Why it has stopped.
    public enum Stop: Hashable, Sendable {
        /// It is about to receive this signal.
        case signal(CInt)
        /// It has executed a program and run no instruction of it.
        case executed
        /// It has made a process, which has run no instruction.
        case forked
        /// It has made a thread, or a process by a call that is meant for threads.
        case cloned
        case other

        /// From `si_status` of waitid(2): the signal, and above it a PTRACE_EVENT_*.
        init(status: CInt) {
            self =
                switch status >> 8 {
                case 0: .signal(status)
                case 1, 2: .forked
                case 3: .cloned
                case 4: .executed
                default: .other
                }
        }
    }

    /// Has its later execs, children and threads reported (PTRACE_SETOPTIONS); should we end, it is killed.
    public func reportStarts() { _ = gr_trace_options(thread) }

    /// Lets it go on (PTRACE_CONT).
    ///
    /// - Parameter signal: what it receives first; 0: nothing.
    public func proceed(with signal: CInt = 0) { _ = gr_trace_continue(thread, signal) }

    /// Lets it go on, traced no longer (PTRACE_DETACH).
    public func detach(with signal: CInt = 0) { _ = gr_trace_detach(thread, signal) }

    /// The process or thread that it has just made (PTRACE_GETEVENTMSG).
    public var child: pid_t? {
        let child = gr_trace_child(thread)
        return child > 0 ? child : nil
    }

    /// Whether the kernel has told the program that this process has just executed not to trust its environment
    /// (AT_SECURE in getauxval(3)): its dynamic linker loads no library that LD_PRELOAD names. A set-user-ID
    /// program is not the only kind: file capabilities and rules of AppArmor and SELinux do it as well. True of
    /// one that we may not look at: it has more rights than we have.
    public func isSecurelyExecuted(by process: pid_t) -> Bool {
        let secure: UInt = 23
        do throws(SystemError) {
            let file = try FileDescriptor.open("/proc/\(process)/auxv", O_RDONLY)
            return unsafe try withUnsafeTemporaryAllocation(
                byteCount: 4096, alignment: MemoryLayout<UInt>.alignment
            ) { bytes throws(SystemError) in
                let count = unsafe try file.read(into: bytes) ?? 0
                let words = unsafe bytes.bindMemory(to: UInt.self)
                return stride(from: 0, to: count / MemoryLayout<UInt>.size - 1, by: 2).contains {
                    unsafe words[$0] == secure && words[$0 + 1] != 0
                }
            }
        } catch {
            return error.code == EACCES || error.code == EPERM
        }
    }

    /// Asks for a stop: `Stop.signal(SIGSTOP)` follows (tgkill(2)).
    public func stop(of process: pid_t) { _ = gr_signal_thread(process, thread, SIGSTOP) }
}
