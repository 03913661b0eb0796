/// A message from an app's process to the daemon.
public enum AppMessage: Equatable, Sendable {
    /// The process is paused and waits. This is the first message of a prewarmed instance.
    case paused(Pause)
    /// The process has applied the launch with that cookie, and main runs next. This is the last
    /// message of a process that the shim paused.
    case started(cookie: UInt64)
    /// The process has applied the launch with that cookie, and now executes the launch's command
    /// line (execve(2)), because going on from the pause would have differed from a direct call.
    /// This is its last message.
    case startedAnew(cookie: UInt64, AnewStatus)
    /// Answers a ping.
    case pong(cookie: UInt64)
    /// The message with that cookie was refused (`EPROTO`, `ENOMEM`: the process goes on waiting),
    /// or applying it failed (any other errno: the channel closes next, and main has not run).
    case error(errno: Int32, cookie: UInt64)
    /// The process, which will be held at its first window, is about to own this name on its
    /// session's message bus, and waits for ``DaemonMessage/nameIsWatched``.
    case wantsName(String)
    /// A report of the process, before its pause, about the library with this index in its list.
    case opening(UInt64, LibraryStep)
    /// A report from an app that is made with an SDK.
    case report(AppReport)

    public struct Pause: Equatable, Sendable {
        public var reason: PauseReason
        /// How many threads the process has; 0 if it does not know (`/proc` is missing). With more
        /// than one, the process can be resumed but not forked.
        public var threadCount: UInt32
        /// How many entries the prewarm's argv has. If the kernel put a script's interpreter before
        /// the arguments of exec, these are more than were passed to exec.
        public var argumentCount: UInt32
        /// When the message was sent: `CLOCK_MONOTONIC`, nanoseconds.
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

    /// What happens to a library that is to be open at the pause.
    public enum LibraryStep: Int32, Sendable, CaseIterable {
        /// The library is opened next.
        case next = 0
        /// The library cannot be opened, and is left out.
        case failed = 1
        /// There are no more libraries.
        case done = 2
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

/// Why a program cannot be held at its first window: an `errno` with which the library that withholds
/// windows reports it (`Sources/CWithhold/withhold.h`).
public enum WithholdingFailure: Int32, Sendable, CaseIterable {
    /// `EPROTONOSUPPORT`: the program uses its display in a way in which its windows cannot be
    /// withheld.
    case otherDisplay = 93
    /// `EEXIST`: another process of the program runs, and owns its name on a message bus.
    case nameTaken = 17
    /// `EADDRINUSE`: the program was about to own a name on a message bus, and nobody can watch
    /// that name.
    case ownsName = 98
    /// `EALREADY`: the program was about to show an icon in a panel, or a notification.
    case showsNotice = 114
    /// `ECHILD`: the program was about to make a process while it was held.
    case startsProgram = 10
}

/// Why an interpreter that was paused after its start does not go on as the launch, but is executed
/// anew in the same process. This is the status of STARTED.
public enum AnewStatus: Int32, Sendable, CaseIterable {
    /// The words before the program are not those of the prewarm.
    case options = 1
    /// The interpreter's hook does not know this way to name a program.
    case program = 2
    /// A file beside the program hides a module that was imported, or the program begins with other
    /// modules.
    case hidden = 3
    /// The files of imported modules have changed since.
    case changed = 4
    /// A variable that was read before the pause has another value.
    case environment = 5
    /// The caller ignores a signal that now has a handler.
    case signals = 6
    /// The hook could not exchange the program.
    case failed = 7
}

extension AppMessage {
    /// - Parameters:
    ///   - datagram: one complete message.
    ///   - descriptorCount: how many descriptors came with it. None are allowed; the caller closes
    ///     them.
    public init(decoding datagram: RawSpan, descriptorCount: Int = 0) throws(WireError) {
        let header = try Header(decoding: datagram, descriptorCount: descriptorCount)
        guard let type = WireFormat.MessageType(rawValue: header.type) else {
            self = .report(try AppReport(AppFrame(header, in: datagram)))
            return
        }
        if type == .wantsName {
            self = .wantsName(try Self.name(header, in: datagram))
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
        case .started:
            message = Self.started(header)
            unused.status = 0
        case .pong: message = .pong(cookie: header.cookie)
        case .error:
            message = .error(errno: header.status, cookie: header.cookie)
            unused.status = 0
        case .opening:
            guard let step = LibraryStep(rawValue: header.status) else {
                throw .unusedFieldSet(type: header.type)
            }
            message = .opening(header.cookie, step)
            unused.status = 0
        case .go, .ping, .quit, .inherit, .nameIsWatched, .wantsName:
            throw .unknownType(header.type)
        }
        guard unused == Header() else { throw .unusedFieldSet(type: header.type) }
        let extra = datagram.byteCount - WireFormat.headerByteCount
        guard extra == 0 else { throw .wrongLength(announced: 0, received: extra) }
        self = message
    }

    /// A name has at most this many bytes (D-Bus Specification, "Valid Names").
    public static let nameLimit = 255

    private static func name(_ header: Header, in datagram: RawSpan) throws(WireError) -> String {
        let start = WireFormat.headerByteCount
        let count = datagram.byteCount - start
        guard header.stringByteCount == UInt32(count) else {
            throw .wrongLength(announced: Int(header.stringByteCount), received: count)
        }
        guard count <= nameLimit + 1 else { throw .tooManyStringBytes(count) }
        let expected = Header(
            type: header.type, argumentCount: 1, stringByteCount: UInt32(count))
        guard header == expected else { throw .unusedFieldSet(type: header.type) }
        let bytes = (start..<datagram.byteCount).map {
            unsafe datagram.unsafeLoad(fromByteOffset: $0, as: UInt8.self)
        }
        guard bytes.count > 1, bytes.last == 0, !bytes.dropLast().contains(0),
            let name = String(validating: bytes.dropLast(), as: UTF8.self)
        else { throw .malformedStrings }
        return name
    }

    /// A reason that this side does not know counts as a failure of the hook: the process has
    /// started all the same, so the launch must not be started a second time.
    private static func started(_ header: Header) -> AppMessage {
        guard header.status != 0 else { return .started(cookie: header.cookie) }
        let status = AnewStatus(rawValue: header.status) ?? .failed
        return .startedAnew(cookie: header.cookie, status)
    }

    public init(decoding datagram: [UInt8], descriptorCount: Int = 0) throws(WireError) {
        try unsafe self.init(decoding: datagram.span.bytes, descriptorCount: descriptorCount)
    }

    /// The message as a datagram.
    /// - Throws: ``WireError`` if a report's strings contain a NUL or are too long.
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
        case .startedAnew(let cookie, let status):
            header.type = WireFormat.MessageType.started.rawValue
            header.cookie = cookie
            header.status = status.rawValue
        case .pong(let cookie):
            header.type = WireFormat.MessageType.pong.rawValue
            header.cookie = cookie
        case .error(let errno, let cookie):
            header.type = WireFormat.MessageType.error.rawValue
            header.status = errno
            header.cookie = cookie
        case .wantsName(let name):
            let strings = try StringList([name])
            header.type = WireFormat.MessageType.wantsName.rawValue
            header.argumentCount = 1
            header.stringByteCount = UInt32(strings.bytes.count)
            return header.datagram(reserving: strings.bytes.count) + strings.bytes
        case .opening(let index, let step):
            header.type = WireFormat.MessageType.opening.rawValue
            header.cookie = index
            header.status = step.rawValue
        case .report(let report): return try report.encoded()
        }
        return header.datagram()
    }
}
