import Glibc
import GreenroomAppChannel
import GreenroomLinux

/// The app under test, at the daemon's end of its channel.
final class TestedApp {
    static let launchCookie: UInt64 = 0xFEED_0000_0000_0001
    private static let goCookie: UInt64 = 0xFEED_0000_0000_0002

    let pid: pid_t
    private(set) var steps: [(step: AppReport.LaunchStep, instant: UInt64)] = []
    /// The reports that the app has sent without being asked, in order.
    private(set) var said: [AppReport] = []
    private(set) var started = false
    /// A time just before the process was started.
    let startedAt: UInt64
    private let process: ProcessDescriptor
    private var socket: UnixSocket?
    private let start: Bench.Start
    var isPrewarmed: Bool { start == .prewarmed }
    private let bench: Bench
    private var nextCookie: UInt64 = 1
    private var buffer = [UInt8](repeating: 0, count: WireFormat.datagramLimit)
    private var hasEnded = false

    init(
        _ spawned: Spawned, at startedAt: UInt64, _ socket: UnixSocket,
        _ start: Bench.Start, _ bench: Bench
    ) {
        self.startedAt = startedAt
        pid = spawned.pid
        process = spawned.process
        self.socket = socket
        self.start = start
        self.bench = bench
    }

    deinit {
        guard !hasEnded else { return }
        _ = try? process.send(signal: SIGKILL)
        _ = try? process.wait()
    }

    // MARK: Sending

    func send(
        _ message: DaemonMessage, descriptors: [FileDescriptor] = []
    ) throws(Fault) {
        guard let bytes = try? message.encoded().datagram else {
            throw Fault("a message of this check is too long")
        }
        try send(bytes: bytes, descriptors: descriptors)
    }

    func send(_ event: AppEvent) throws(Fault) { try send(.event(event)) }

    func send(bytes: [UInt8], descriptors: [FileDescriptor] = []) throws(Fault) {
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe (try? socket?.send(bytes, descriptors: descriptors.map(\.rawValue))) ?? nil
        }
        guard sent != nil else { throw Fault("it closed the channel") }
        withExtendedLifetime(descriptors) {}
    }

    func cookie() -> UInt64 {
        defer { nextCookie += 1 }
        return nextCookie
    }

    func closeChannel() { socket = nil }

    // MARK: Receiving

    /// The next message; nil at the end of the channel.
    func next() throws(Fault) -> AppMessage? {
        guard let message = try receive() else { return nil }
        try note(message)
        return message
    }

    private func receive() throws(Fault) -> AppMessage? {
        guard let socket else { return nil }
        do throws(SystemError) {
            guard try socket.descriptor.waitUntilReadable(milliseconds: bench.milliseconds) else {
                throw SystemError(code: ETIMEDOUT, call: "recvmsg")
            }
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                Result { () throws(SystemError) in unsafe try socket.receive(into: bytes) }
            }
            guard let received = try result.get(), received.byteCount > 0 else { return nil }
            do throws(WireError) {
                return try unsafe AppMessage(
                    decoding: buffer.span.extracting(..<received.byteCount).bytes,
                    descriptorCount: received.descriptors.count)
            } catch {
                throw SystemError(code: EPROTO, call: "decoding a message: \(error)")
            }
        } catch {
            if error.code == ECONNRESET { return nil }
            if error.code == ETIMEDOUT {
                throw Fault("it said nothing for \(bench.milliseconds / 1000) s")
            }
            throw Fault("it sent something that is not a message: \(error)")
        }
    }

    /// More reports than any check needs. A check fails if the app sends more.
    private static let reportLimit = 10_000

    private func note(_ message: AppMessage) throws(Fault) {
        guard case .report(let report) = message else { return }
        switch report {
        case .launchStep(let step, let instant, _): steps.append((step, instant))
        case .acknowledged, .callbackOverran, .didDrawFirstFrame, .launchSteps: break
        case .requestScene, .openURL, .state, .background, .launchTask, .subscribesToMetrics:
            said.append(report)
        }
        guard steps.count + said.count <= Self.reportLimit else {
            throw Fault("it has sent \(Self.reportLimit) reports, and goes on")
        }
    }

    @discardableResult
    func awaitPause() throws(Fault) -> AppMessage.Pause {
        let message = try next()
        guard case .paused(let pause)? = message else {
            throw Fault("a prewarmed app says PAUSED first, not \(words(message))")
        }
        return pause
    }

    /// The next message that is an answer, not a report that the app sends without being asked.
    func nextAnswer() throws(Fault) -> AppMessage? {
        while true {
            let message = try next()
            guard case .report(let report)? = message else { return message }
            if case .acknowledged = report { return message }
        }
    }

    /// - Returns: whether the app has handled the event.
    @discardableResult
    func awaitAcknowledgement(of cookie: UInt64) throws(Fault) -> Bool {
        let message = try nextAnswer()
        guard case .report(.acknowledged(cookie, let handled))? = message else {
            throw Fault(
                "it had to acknowledge \(cookie), but sent \(words(message))")
        }
        return handled
    }

    @discardableResult
    func tell(_ make: (UInt64) -> AppEvent) throws(Fault) -> Bool {
        let cookie = cookie()
        try send(make(cookie))
        return try awaitAcknowledgement(of: cookie)
    }

    func tell(_ event: AppEvent.Lifecycle) throws(Fault) {
        try tell { .lifecycle(event, cookie: $0) }
    }

    func awaitError(_ code: CInt, cookie: UInt64, _ why: String) throws(Fault) {
        let message = try nextAnswer()
        guard message == .error(errno: code, cookie: cookie) else {
            throw Fault(
                "\(why): ERROR \(SystemError.name(of: code)) with its cookie was expected, not "
                    + words(message))
        }
    }

    /// Requires that the app responds and has sent nothing unexpected.
    func settle() throws(Fault) {
        let cookie = cookie() | 1 << 40
        try send(.ping(cookie: cookie))
        let message = try nextAnswer()
        guard message == .pong(cookie: cookie) else {
            throw Fault(
                "PING must be answered by PONG with its cookie, not by \(words(message))")
        }
    }

    // MARK: Launching

    func plainLaunch(_ flags: AppLaunch.Flags) -> AppLaunch {
        AppLaunch(
            cookie: Self.launchCookie, flags: flags, requestInstant: MonotonicClock.nanoseconds)
    }

    /// Sends LAUNCH, and GO if the app is paused, and waits for STARTED.
    func launch(
        _ launch: AppLaunch, _ change: (inout GoMessage) -> Void = { _ in },
        descriptors: [FileDescriptor] = []
    ) throws(Fault) {
        try send(.launch(launch))
        var cookie = launch.cookie
        if start == .prewarmed {
            guard let arguments = try? StringList(bench.command),
                let environment = try? StringList(bench.environment)
            else { throw Fault("the environment is too large") }
            var go = GoMessage(
                arguments: arguments, environment: environment, cookie: Self.goCookie)
            change(&go)
            try send(.go(go), descriptors: descriptors)
            cookie = Self.goCookie
        }
        let message = try next()
        guard message == .started(cookie: cookie) else {
            throw Fault(
                "the launch must be answered by STARTED with the cookie of "
                    + (start == .cold ? "LAUNCH" : "GO") + ", not by \(words(message))")
        }
        started = true
    }

    // MARK: The process

    func awaitExit() throws(Fault) -> TerminationStatus {
        do throws(SystemError) {
            guard
                try process.descriptor.waitUntilReadable(milliseconds: bench.milliseconds)
            else { throw SystemError(code: ETIMEDOUT, call: "waitid") }
            hasEnded = true
            return try process.wait()
        } catch {
            throw Fault("it does not end")
        }
    }

    /// How the process ended, for humans. `--show-output` may show why.
    private var end: String {
        guard let status = try? awaitExit() else { return "" }
        return " (it ended: \(status); --show-output shows what it wrote)"
    }

    /// The path of one of the process's files in proc(5).
    func file(_ name: String) -> String { "/proc/\(pid)/\(name)" }

    func words(_ message: AppMessage?) -> String {
        switch message {
        case nil: "the end of the channel" + end
        case .paused?: "PAUSED"
        case .started(let cookie)?, .startedAnew(let cookie, _)?: "STARTED of \(cookie)"
        case .pong(let cookie)?: "PONG of \(cookie)"
        case .error(let code, let cookie)?: "ERROR \(SystemError.name(of: code)) of \(cookie)"
        case .wantsName(let name)?: "the request for the name \(name)"
        case .opening?: "the opening of a library"
        case .report(.acknowledged(let cookie, _))?: "the acknowledgement of \(cookie)"
        case .report(let report)?: "\(report)"
        }
    }
}
