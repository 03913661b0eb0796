/// What a prewarmed process says to the daemon.
public enum AppMessage: Equatable, Sendable {
    /// The process waits. The first message of every instance.
    case paused(Pause)
    /// The launch with that cookie is applied and main runs next: the last message.
    case started(cookie: UInt64)
    /// Answers a ping.
    case pong(cookie: UInt64)
    /// The message with that cookie was refused (`EPROTO`, `ENOMEM`: the process goes on waiting)
    /// or failed half-way (any other errno: the channel ends next and main has not run).
    case error(errno: Int32, cookie: UInt64)
    /// From an app that is built with an SDK.
    case report(AppReport)

    public struct Pause: Equatable, Sendable {
        public var reason: PauseReason
        /// Threads of the process; 0 when it cannot tell (`/proc` missing). More than one means
        /// that it can be resumed but not forked.
        public var threadCount: UInt32
        /// Entries of the prewarm's argv. More than were passed to exec when the kernel put a
        /// script's interpreter before them.
        public var argumentCount: UInt32
        /// `CLOCK_MONOTONIC` when it was sent, in nanoseconds.
        public var instant: UInt64

        public init(
            reason: PauseReason, threadCount: UInt32, argumentCount: UInt32, instant: UInt64
        ) {
            self.reason = reason
            self.threadCount = threadCount
            self.argumentCount = argumentCount
            self.instant = instant
        }
    }

    public enum PauseReason: Int32, Sendable, CaseIterable {
        /// Everything before main has run.
        case main = 0
        /// The program called `greenroom_prewarm_pause`.
        case call = 1
        /// An SDK app has reached `ApplicationMain`.
        case applicationMain = 2
    }
}

extension AppMessage {
    /// - Parameters:
    ///   - datagram: one message, whole.
    ///   - descriptorCount: how many descriptors came with it. None may; the caller closes them.
    public init(decoding datagram: RawSpan, descriptorCount: Int = 0) throws(WireError) {
        let header = try Header(decoding: datagram, descriptorCount: descriptorCount)
        guard let type = WireFormat.MessageType(rawValue: header.type) else {
            self = .report(try AppReport(AppFrame(header, in: datagram)))
            return
        }
        var unused = header
        unused.type = 0
        unused.cookie = 0
        let message: AppMessage
        switch type {
        case .paused:
            guard let reason = PauseReason(rawValue: header.status) else {
                throw .unknownPauseReason(header.status)
            }
            message = .paused(
                Pause(
                    reason: reason, threadCount: header.threads,
                    argumentCount: header.argumentCount, instant: header.cookie))
            unused.status = 0
            unused.threads = 0
            unused.argumentCount = 0
        case .started: message = .started(cookie: header.cookie)
        case .pong: message = .pong(cookie: header.cookie)
        case .error:
            message = .error(errno: header.status, cookie: header.cookie)
            unused.status = 0
        case .go, .ping, .quit, .inherit: throw .unknownType(header.type)
        }
        guard unused == Header() else { throw .unusedFieldSet(type: header.type) }
        let extra = datagram.byteCount - WireFormat.headerByteCount
        guard extra == 0 else { throw .wrongLength(announced: 0, received: extra) }
        self = message
    }

    public init(decoding datagram: [UInt8], descriptorCount: Int = 0) throws(WireError) {
        try unsafe self.init(decoding: datagram.span.bytes, descriptorCount: descriptorCount)
    }

    /// One datagram.
    /// - Throws: ``WireError`` for a report whose strings hold a NUL or are too long.
    public func encoded() throws(WireError) -> [UInt8] {
        var header = Header()
        switch self {
        case .paused(let pause):
            header.type = WireFormat.MessageType.paused.rawValue
            header.status = pause.reason.rawValue
            header.threads = pause.threadCount
            header.argumentCount = pause.argumentCount
            header.cookie = pause.instant
        case .started(let cookie):
            header.type = WireFormat.MessageType.started.rawValue
            header.cookie = cookie
        case .pong(let cookie):
            header.type = WireFormat.MessageType.pong.rawValue
            header.cookie = cookie
        case .error(let errno, let cookie):
            header.type = WireFormat.MessageType.error.rawValue
            header.status = errno
            header.cookie = cookie
        case .report(let report): return try report.encoded()
        }
        return header.datagram()
    }
}
