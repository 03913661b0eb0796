import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport

/// A process paused by the shim, and the test's end of its channel. The test does what the daemon
/// does.
final class PrewarmedProcess {
    let child: ChildProcess
    let channel: Int32

    /// - Parameters:
    ///   - request: as for a cold start; the shim's variables and the channel are added.
    ///   - executable: see ``PrewarmEnvironment/entries``.
    ///   - library: another one than the shim, which is preloaded in its place.
    init(
        _ request: ChildRequest, executable: String? = nil, userPreload: String? = nil,
        descriptor: Int32 = 1023, library: String? = nil
    ) throws {
        var pair: [Int32] = [-1, -1]
        guard cts_seqpacket_pair(&pair) == 0 else { throw TestError("no socket pair") }
        defer { close(pair[1]) }
        var status = stat()
        fstat(pair[1], &status)
        var request = request
        request.environment += PrewarmEnvironment.entries(
            shim: try library ?? prewarmShim(), userPreload: userPreload, descriptor: descriptor,
            socketInode: UInt64(status.st_ino), executable: executable)
        request.descriptors[descriptor] = pair[1]
        channel = pair[0]
        child = try ChildProcess(request)
    }

    deinit { close(channel) }

    /// The next message, nil at the channel's end.
    func receive(seconds: Int32 = 30) throws -> AppMessage? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = cts_receive(channel, &buffer, buffer.count, seconds * 1000)
        if count == 0 || count == -Int(ECONNRESET) { return nil }
        guard count > 0 else { throw TestError("no message: errno \(-count)") }
        return try AppMessage(decoding: Array(buffer[..<count]))
    }

    /// Waits for the pause, which must be the first message.
    @discardableResult
    func awaitPause() throws -> AppMessage.Pause {
        guard case .paused(let pause)? = try receive() else { throw TestError("no PAUSED") }
        return pause
    }

    func send(_ message: DaemonMessage, descriptors: [Int32] = []) throws {
        let encoded = try message.encoded()
        var descriptors = descriptors
        var memory: Int32 = -1
        if let strings = encoded.descriptorStrings {
            memory = cts_sealed_memory(strings, strings.count)
            descriptors.append(memory)
        }
        defer { if memory >= 0 { close(memory) } }
        try send(bytes: encoded.datagram, descriptors: descriptors)
    }

    func send(bytes: [UInt8], descriptors: [Int32] = []) throws {
        let sent = cts_send(channel, bytes, bytes.count, descriptors, Int32(descriptors.count))
        guard sent == bytes.count else { throw TestError("cannot send: errno \(-sent)") }
    }

    /// Sends a GO that makes the process what `request` describes, and waits for STARTED and the
    /// channel's end.
    func launch(
        as request: ChildRequest, flags: GoMessage.Flags = [.setCommandLine], cookie: UInt64 = 1
    ) throws {
        try sendLaunch(as: request, flags: flags, cookie: cookie)
        let answer = try receive()
        guard answer == .started(cookie: cookie) else {
            throw TestError("answer to GO: \(String(describing: answer))")
        }
        guard try receive() == nil else { throw TestError("the channel outlives STARTED") }
    }

    func sendLaunch(
        as request: ChildRequest, flags: GoMessage.Flags = [.setCommandLine], cookie: UInt64 = 1
    ) throws {
        let targets = request.descriptors.keys.sorted()
        var roles = targets.map { DescriptorRole.place($0) }
        var descriptors = targets.map { request.descriptors[$0]! }
        var directory: Int32 = -1
        if let path = request.directory {
            directory = cts_open_directory(path)
            roles.append(.workingDirectory)
            descriptors.append(directory)
        }
        defer { if directory >= 0 { close(directory) } }
        let go = GoMessage(
            arguments: try StringList(request.arguments),
            environment: try StringList(request.environment), flags: flags,
            umask: request.umask < 0 ? nil : UInt32(request.umask), roles: roles, cookie: cookie)
        try send(.go(go), descriptors: descriptors)
    }
}

/// Prewarms the program of a request with nothing but its name, launches it as the request says
/// and collects its output.
func runPrewarmed(
    _ request: ChildRequest, executable: String? = nil, mergingErrors: Bool = false,
    prewarmArguments: [String]? = nil, flags: GoMessage.Flags = [.setCommandLine]
) throws -> (exit: ChildProcess.Exit, output: [UInt8]) {
    var prewarm = ChildRequest(
        request.path, arguments: prewarmArguments ?? [request.arguments[0]],
        environment: ["PATH=/usr/bin:/bin"])
    prewarm.directory = "/"
    prewarm.user = request.user
    prewarm.newSession = request.newSession
    prewarm.noNewPrivileges = request.noNewPrivileges
    prewarm.openFileLimit = request.openFileLimit
    let process = try PrewarmedProcess(prewarm, executable: executable)
    try process.awaitPause()

    var request = request
    let pipe = try Pipe()
    request.descriptors[1] = pipe.writeEnd
    if mergingErrors { request.descriptors[2] = pipe.writeEnd }
    try process.launch(as: request, flags: flags)
    pipe.closeWriteEnd()
    let output = readToEnd(pipe.readEnd)
    return (try process.child.waitForExit(), output)
}

func lines(_ bytes: [UInt8]) -> [String] {
    bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
}
