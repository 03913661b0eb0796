internal import CGreenroomLinux
public import Glibc

/// A thread of another process that this process traces (ptrace(2)). All calls but ``stop(of:)``
/// need a stopped thread. A thread that has been killed in the meantime is ignored, because its end
/// is reported anyway.
public struct Tracee: Hashable, Sendable {
    public let thread: pid_t

    public init(_ thread: pid_t) { self.thread = thread }

    /// Why the thread has stopped.
    public enum Stop: Hashable, Sendable {
        /// The thread is about to receive this signal.
        case signal(CInt)
        /// The thread has executed a program, and has not run any instruction of it.
        case executed
        /// The thread has made a process, which has not run any instruction.
        case forked
        /// The thread has made a thread, or a process by a call that is meant for threads.
        case cloned
        case other

        /// Makes the value from `si_status` of waitid(2): the signal, and above it a
        /// PTRACE_EVENT_*.
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

    /// Requests reports of later execs, children and threads of this thread (PTRACE_SETOPTIONS). If
    /// the tracer ends, the thread is killed.
    public func reportStarts() { _ = gr_trace_options(thread) }

    /// Lets the thread continue (PTRACE_CONT).
    ///
    /// - Parameter signal: the signal that the thread receives first; 0 means none.
    public func proceed(with signal: CInt = 0) { _ = gr_trace_continue(thread, signal) }

    /// Lets the thread continue and stops tracing it (PTRACE_DETACH).
    public func detach(with signal: CInt = 0) { _ = gr_trace_detach(thread, signal) }

    /// The process or thread that this thread has just made (PTRACE_GETEVENTMSG).
    public var child: pid_t? {
        let child = gr_trace_child(thread)
        return child > 0 ? child : nil
    }

    /// Whether the kernel has told the program that `process` has just executed not to trust its
    /// environment (AT_SECURE in getauxval(3)). If so, the dynamic linker loads no library that
    /// LD_PRELOAD names. The kernel does that for set-user-ID programs, for file capabilities, and
    /// for rules of AppArmor and SELinux. True also if the tracer may not read that, because then
    /// the program has more rights than the tracer.
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

    /// Stops the thread (tgkill(2)); `Stop.signal(SIGSTOP)` follows.
    public func stop(of process: pid_t) { _ = gr_signal_thread(process, thread, SIGSTOP) }
}
