internal import CGreenroomLinux

/// Signals as a descriptor to wait for, instead of handlers (signalfd(2)).
public struct SignalDescriptor: Sendable {
    public let descriptor: FileDescriptor

    /// Blocks the signals for this thread; programs with one thread only.
    public init(_ signals: [CInt]) throws(SystemError) {
        descriptor = FileDescriptor(
            owning: try systemCall("signalfd") { unsafe gr_signalfd(signals, CInt(signals.count)) })
    }

    /// One signal that came, nil if none did. Several SIGCHLD come as one.
    public func next() throws(SystemError) -> CInt? {
        let signal = try systemCall("read") { gr_signalfd_read(descriptor.rawValue) }
        return signal == 0 ? nil : signal
    }
}
