internal import Glibc

/// Events to wait for, and the events that came (poll(2)).
public struct PollEntry: Sendable {
    public var descriptor: CInt
    /// POLLIN, POLLOUT or POLLPRI, combined.
    public var events: Int16
    public internal(set) var happened: Int16 = 0

    public init(_ descriptor: CInt, _ events: CInt) {
        self.descriptor = descriptor
        self.events = Int16(events)
    }

    /// Whether one of the requested events came, or the other end is gone.
    public var isReady: Bool { happened != 0 }
}

extension PollEntry {
    /// Waits until one of the entries is ready or the time is over.
    ///
    /// - Parameter milliseconds: -1 means for ever.
    /// - Returns: how many are ready; 0 if the time is over, or a signal came.
    @discardableResult
    public static func wait(
        _ entries: inout [PollEntry], milliseconds: CInt
    ) throws(SystemError) -> Int {
        var raw = entries.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        do {
            let count = unsafe poll(&raw, nfds_t(raw.count), milliseconds)
            if count < 0 {
                if errno == EINTR { return 0 }
                throw SystemError(code: errno, call: "poll")
            }
            for i in raw.indices { entries[i].happened = raw[i].revents }
            return Int(count)
        }
    }

    /// Waits until one descriptor is ready or the time is over.
    ///
    /// - Parameter milliseconds: -1 to wait for ever.
    /// - Returns: false if the time is over, or a signal came.
    public static func wait(
        for descriptor: CInt, _ events: CInt, milliseconds: CInt
    ) throws(SystemError) -> Bool {
        var entries = [PollEntry(descriptor, events)]
        return try wait(&entries, milliseconds: milliseconds) > 0
    }
}

extension FileDescriptor {
    /// Waits until the descriptor is readable. For tests and for programs without a loop.
    public func waitUntilReadable(milliseconds: CInt = -1) throws(SystemError) -> Bool {
        try PollEntry.wait(for: rawValue, POLLIN, milliseconds: milliseconds)
    }
}
