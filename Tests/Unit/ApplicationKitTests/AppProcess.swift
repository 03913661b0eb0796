import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport

/// A real app, and the daemon's end of its channel, which the test holds.
final class AppProcess {
    let child: ChildProcess
    let channel: Int32
    let output = try! Pipe()
    private(set) var reports: [AppReport] = []
    private var cookie: UInt64 = 100

    enum Start: CaseIterable, Sendable { case cold, prewarmed }

    /// - Parameters:
    ///   - delegate: the name of the probe's delegate; empty for another program.
    ///   - environment: what the process starts with; the launch of a prewarmed one brings its own.
    init(
        _ delegate: String, _ start: Start, program name: String = "application-kit-probe",
        environment: [String] = [], arguments: [String] = [], input: Int32? = nil,
        mergingErrors: Bool = false
    ) throws {
        let program = try builtProgram(name)
        var pair: [Int32] = [-1, -1]
        guard cts_seqpacket_pair(&pair) == 0 else { throw TestError("no socket pair") }
        defer { close(pair[1]) }
        var status = stat()
        fstat(pair[1], &status)
        var request = ChildRequest(
            program, arguments: [program] + arguments,
            environment: environment + ["PROBE_DELEGATE=\(delegate)"]
                + ChildRequest.sanitizerOptions
                + ["\(PrewarmEnvironment.channelName)=1023:\(status.st_ino)"])
        if start == .prewarmed { request.environment.append("ActivePrewarm=1") }
        request.descriptors = [1: output.writeEnd, 1023: pair[1]]
        request.descriptors[0] = input
        if mergingErrors { request.descriptors[2] = output.writeEnd }
        channel = pair[0]
        child = try ChildProcess(request)
        output.closeWriteEnd()
    }

    deinit { close(channel) }

    func nextCookie() -> UInt64 {
        cookie += 1
        return cookie
    }

    /// The next message; nil at the channel's end.
    func receive() throws -> AppMessage? {
        var buffer = [UInt8](repeating: 0, count: WireFormat.datagramLimit)
        let count = cts_receive(channel, &buffer, buffer.count, 30_000)
        if count == 0 || count == -Int(ECONNRESET) { return nil }
        guard count > 0 else { throw TestError("no message: errno \(-count)") }
        let message = try AppMessage(decoding: Array(buffer[..<count]))
        if case .report(let report) = message { reports.append(report) }
        return message
    }

    func send(_ message: DaemonMessage, descriptors: [Int32] = []) throws {
        let datagram = try message.encoded().datagram
        let sent = cts_send(
            channel, datagram, datagram.count, descriptors, Int32(descriptors.count))
        guard sent == datagram.count else { throw TestError("cannot send: errno \(-sent)") }
    }

    func send(_ event: AppEvent, descriptors: [Int32] = []) throws {
        try send(.event(event), descriptors: descriptors)
    }

    @discardableResult
    func awaitPause() throws -> AppMessage.Pause {
        guard case .paused(let pause)? = try receive() else { throw TestError("no PAUSED") }
        return pause
    }

    /// Launches as the daemon does: cold at once, prewarmed by an order to go.
    func launch(
        _ launch: AppLaunch, _ start: Start, environment: [String] = [], descriptors: [Int32] = []
    ) throws {
        if start == .prewarmed { try awaitPause() }
        try send(.launch(launch), descriptors: descriptors)
        guard start == .prewarmed else { return try awaitStart(launch.cookie) }
        let go = GoMessage(
            arguments: try StringList(["app", "launched"]),
            environment: try StringList(environment), cookie: 77)
        try send(.go(go))
        try awaitStart(77)
    }

    private func awaitStart(_ cookie: UInt64) throws {
        let message = try receive()
        guard message == .started(cookie: cookie) else {
            throw TestError("instead of STARTED: \(String(describing: message))")
        }
    }

    /// Reads messages until an event is acknowledged. Returns whether it was handled.
    @discardableResult
    func awaitAcknowledgement(_ cookie: UInt64) throws -> Bool {
        while true {
            switch try receive() {
            case .report(.acknowledged(cookie, let handled)): return handled
            case nil: throw TestError("the channel ended before \(cookie) was acknowledged")
            default: continue
            }
        }
    }

    /// Sends an event and awaits its acknowledgement.
    @discardableResult
    func tell(_ event: AppEvent, descriptors: [Int32] = []) throws -> Bool {
        try send(event, descriptors: descriptors)
        return try awaitAcknowledgement(event.cookie!)
    }

    @discardableResult
    func tell(_ event: AppEvent.Lifecycle) throws -> Bool {
        try tell(.lifecycle(event, cookie: nextCookie()))
    }

    @discardableResult
    func tell(_ transition: AppEvent.SceneTransition, _ session: String) throws -> Bool {
        try tell(.scene(transition, session: session, cookie: nextCookie()))
    }

    func connect(
        _ session: String, _ content: AppContent = AppContent(), foreground: Bool = true
    ) throws {
        try tell(
            .connectScene(
                SceneConnection(
                    session: session, content: content, isForForeground: foreground,
                    cookie: nextCookie())))
    }

    /// Asks the app to end, and returns everything it said.
    func end() throws -> [String] {
        try tell(.willTerminate)
        guard try child.waitForExit() == .status(0) else {
            throw TestError("the exit status is not 0")
        }
        return lines()
    }

    /// The lines that the process has printed before its end.
    func lines() -> [String] {
        readToEnd(output.readEnd).split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    var hasDrawn: Bool {
        reports.contains { if case .didDrawFirstFrame = $0 { true } else { false } }
    }

    var steps: [AppReport.LaunchStep] {
        reports.compactMap { if case .launchStep(let step, _, _) = $0 { step } else { nil } }
    }
}

/// The path of a program of the same build, which is beside the test bundle.
func builtProgram(_ name: String) throws -> String {
    for argument in CommandLine.arguments {
        var directory = argument[...]
        while let slash = directory.lastIndex(of: "/") {
            directory = directory[..<slash]
            let path = "\(directory)/\(name)"
            var status = stat()
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return path }
        }
    }
    return "\(packageRoot)/.build/debug/\(name)"
}

/// The next line of a pipe, without the newline; nil at the end of the file.
func readLine(from descriptor: Int32) -> String? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(descriptor, &byte, 1) == 1 {
        if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line.append(byte)
    }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
}

extension AppProcess {
    /// Reads the app's output until that line. Returns false if the output ends before.
    func awaitLine(_ expected: String) throws -> Bool {
        while let line = readLine(from: output.readEnd) {
            if line == expected { return true }
        }
        return false
    }
}
