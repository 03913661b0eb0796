internal import CGreenroomLinux

/// A descriptor from which signals are read, instead of handlers (signalfd(2)).
public struct SignalDescriptor: Sendable {
    public let descriptor: FileDescriptor

    /// Blocks the signals for this thread; only for programs with one thread.
    public init(_ signals: [CInt]) throws(SystemError) {
        descriptor = FileDescriptor(
            owning: try systemCall("signalfd") { unsafe gr_signalfd(signals, CInt(signals.count)) })
    }

    /// Stops this process's group as the terminal would (SIGTSTP, SIGTTOU), including this process,
    /// even if the signal is blocked. Returns when the process is continued; returns at once if the
    /// signal is ignored, or if the kernel does not stop a group that nobody could continue.
    public static func stopGroup(_ signal: CInt) { _ = gr_stop_group(signal) }

    /// A signal that has arrived; nil if there is none. Several SIGCHLD may arrive as one.
    public func next() throws(SystemError) -> CInt? {
        let signal = try systemCall("read") { gr_signalfd_read(descriptor.rawValue) }
        return signal == 0 ? nil : signal
    }
}
