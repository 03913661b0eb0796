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

    /// Asks for a stop: `Stop.signal(SIGSTOP)` follows (tgkill(2)).
    public func stop(of process: pid_t) { _ = gr_signal_thread(process, thread, SIGSTOP) }
}
