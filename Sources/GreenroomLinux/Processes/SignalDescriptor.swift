internal import CGreenroomLinux

/// Signals as a descriptor to wait for, instead of handlers (signalfd(2)).
public struct SignalDescriptor: Sendable {
    public let descriptor: FileDescriptor

    /// Blocks the signals for this thread; programs with one thread only.
    public init(_ signals: [CInt]) throws(SystemError) {
        descriptor = FileDescriptor(
            owning: try systemCall("signalfd") { unsafe gr_signalfd(signals, CInt(signals.count)) })
    }

    /// Stops our process group as the terminal would (SIGTSTP, SIGTTOU), and us with it though the
    /// signal is blocked. Returns when we are continued; at once where the kernel does not stop a
    /// group that nobody could continue, or the signal is ignored.
    public static func stopGroup(_ signal: CInt) { _ = gr_stop_group(signal) }

    /// Whether it was ignored when this program was called (nohup(1)), and shall be.
    public static func isIgnored(_ signal: CInt) -> Bool { gr_signal_is_ignored(signal) }

    /// One signal that came, nil if none did. Several SIGCHLD come as one.
    public func next() throws(SystemError) -> CInt? {
        let signal = try systemCall("read") { gr_signalfd_read(descriptor.rawValue) }
        return signal == 0 ? nil : signal
    }
}
