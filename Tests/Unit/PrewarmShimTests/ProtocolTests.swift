import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// The shim's side of the protocol, with valid and invalid messages.
@Suite struct ProtocolTests {
    private func paused(_ request: ChildRequest? = nil) throws -> PrewarmedProcess {
        let process = try PrewarmedProcess(
            try request ?? ChildRequest(try compileProbe("behave.c"), arguments: ["behave"]))
        try process.awaitPause()
        return process
    }

    private func expectStillWaiting(_ process: PrewarmedProcess) throws {
        try process.send(.ping(cookie: 99))
        #expect(try process.receive() == .pong(cookie: 99))
    }

    private func go(
        _ arguments: [String] = ["behave", "exit", "5"], environment: [String] = [],
        roles: [DescriptorRole] = []
    ) throws -> GoMessage {
        GoMessage(
            arguments: try StringList(arguments), environment: try StringList(environment),
            roles: roles, cookie: 7)
    }

    @Test func `a report of a pause has its cause, threads, arguments and time`() throws {
        let process = try PrewarmedProcess(
            ChildRequest(try compileProbe("behave.c"), arguments: ["behave", "exit", "9"]))
        let pause = try process.awaitPause()
        #expect(pause.reason == .main)
        #expect(pause.threadCount == 1)
        #expect(pause.argumentCount == 3)
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let nanoseconds = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
        #expect(pause.instant < nanoseconds && nanoseconds - pause.instant < 30_000_000_000)
    }

    @Test func `a ping is answered as often as it is sent`() throws {
        let process = try paused()
        for cookie in [1, UInt64.max, 0] {
            try process.send(.ping(cookie: cookie))
            #expect(try process.receive() == .pong(cookie: cookie))
        }
    }

    @Test func `a launch is reported once, and the exit status is that of the program`() throws {
        let process = try paused()
        try process.send(.go(try go()))
        #expect(try process.receive() == .started(cookie: 7))
        #expect(try process.receive() == nil)
        #expect(try process.child.waitForExit() == .status(5))
    }

    /// The daemon may end after the first of the two messages of a launch. The next daemon asks
    /// whether the process still waits, and may give it to another launch.
    @Test func `what a launch that did not come was to inherit is forgotten at a ping`() throws {
        let process = try paused()
        var state = [UInt8](repeating: 0, count: InheritMessage.byteCount)
        state[0] = 4  // GR_INHERITED_NO_NEW_PRIVILEGES
        try process.send(bytes: InheritMessage.encoded(state))
        try expectStillWaiting(process)
        try process.send(.go(try go(["behave", "wait-forever"])))
        #expect(try process.receive() == .started(cookie: 7))
        let status = try readFile("/proc/\(process.child.pid)/status")
        #expect(String(decoding: status, as: UTF8.self).contains("NoNewPrivs:\t0"))
    }

    @Test func `a process told to quit exits without running main`() throws {
        let process = try paused(
            ChildRequest(try compileProbe("behave.c"), arguments: ["b", "exit", "9"]))
        try process.send(.quit)
        #expect(try process.receive() == nil)
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test func `a process whose daemon is gone exits without running main`() throws {
        let process = try paused(
            ChildRequest(try compileProbe("behave.c"), arguments: ["b", "exit", "9"]))
        shutdown(process.channel, Int32(SHUT_RDWR))
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test func `a daemon gone before the pause leaves nothing running`() throws {
        var pair: [Int32] = [-1, -1]
        #expect(cts_seqpacket_pair(&pair) == 0)
        var status = stat()
        fstat(pair[1], &status)
        close(pair[0])
        var request = ChildRequest(
            try compileProbe("behave.c"), arguments: ["b", "exit", "9"],
            environment: [
                "LD_PRELOAD=\(try prewarmShim())", "GREENROOM_CHANNEL=1023:\(status.st_ino)",
            ])
        request.descriptors[1023] = pair[1]
        #expect(try run(request).exit == .status(0))
        close(pair[1])
    }

    @Test(arguments: ["close-all", "exit", "fork"])
    func `a constructor that misbehaves does not make main run`(word: String) throws {
        let pipe = try Pipe()
        var request = ChildRequest(
            try compileWithLibrary(source: "\(packageRoot)/Tests/Probes/behave.c"),
            arguments: ["b", "print", "main ran"],
            environment: ["BEHAVE_CONSTRUCTOR=\(word)"])
        request.descriptors[1] = pipe.writeEnd
        let process = try PrewarmedProcess(request)
        pipe.closeWriteEnd()
        #expect(try process.child.waitForExit() == .status(0))
        try #require(try process.receive() == nil)
        // The end of the pipe shows that no process is left that could print.
        #expect(readToEnd(pipe.readEnd).isEmpty)
    }

    @Test func `a constructor's child may hold the channel, so a death is seen only on the pidfd`()
        throws
    {
        var request = ChildRequest(
            try compileWithLibrary(source: "\(packageRoot)/Tests/Probes/behave.c"),
            environment: ["BEHAVE_CONSTRUCTOR=child"])
        request.newSession = true
        let process = try PrewarmedProcess(request)
        try process.awaitPause()
        process.child.kill(SIGKILL)
        #expect(try process.child.waitForExit() == .signal(SIGKILL))
        #expect(cts_await_readable(process.channel, 0) == 0)
        kill(-process.child.pid, SIGKILL)
        #expect(try process.receive() == nil)
    }

    @Test func `an invalid message is refused, and the pause goes on`() throws {
        let process = try paused()
        let good = try DaemonMessage.go(try go(environment: ["A=1"])).encoded().datagram
        func changed(_ offset: Int, _ bytes: [UInt8]) -> [UInt8] {
            var copy = good
            copy.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            return copy
        }
        let bad: [[UInt8]] = [
            [0], Array(good[..<159]), Array(good[..<160]), Array(good.dropLast()), good + [0],
            changed(0, [0]), changed(4, [2]), changed(6, [99]), changed(6, [19]), changed(6, [1]),
            changed(8, [0x40]), changed(8, [8]), changed(11, [0x80]),
            changed(12, [0]), changed(12, [4]), changed(12, [255, 255, 255, 255]),
            changed(16, [9]), changed(16, [255, 255, 255, 255]), changed(12, [255, 255, 255, 127]),
            changed(20, [1]), changed(20, [255, 255, 255, 255]), changed(24, [0, 2, 0, 0]),
            changed(28, [1]), changed(28, [255, 255, 255, 255]),
            changed(good.count - 1, [1]), changed(160, [0]),
            Array(repeating: 0xff, count: 4096), Array(repeating: 0, count: 66_000),
            good + [UInt8](repeating: 65, count: 100_000),
        ]
        for message in bad {
            try process.send(bytes: message)
            guard case .error(EPROTO, _)? = try process.receive() else {
                Issue.record("\(message.prefix(48)) of \(message.count) was not refused")
                return
            }
        }
        try expectStillWaiting(process)
        try process.send(bytes: good)
        #expect(try process.receive() == .started(cookie: 7))
        #expect(try process.child.waitForExit() == .status(5))
    }

    @Test func `random bytes are refused and leak no descriptor`() throws {
        let process = try paused()
        let before = KernelObjects.descriptorCount(of: process.child.pid)
        var generator = SeededGenerator()
        let header = try DaemonMessage.go(try go()).encoded().datagram
        for round in 0..<300 {
            var message = header
            for _ in 0..<(1 + round % 4) {
                message[8 + Int.random(in: 0..<40, using: &generator)] = .random(
                    in: .min ... .max, using: &generator)
            }
            message[0] = round % 3 == 0 ? 0 : message[0]
            message.append(0)  // Whatever else was changed, the length is wrong.
            let descriptors = [Int32](repeating: process.channel, count: round % 5)
            try process.send(bytes: message, descriptors: descriptors)
            guard case .error(EPROTO, _)? = try process.receive() else {
                Issue.record("not refused: \(message)")
                return
            }
        }
        #expect(KernelObjects.descriptorCount(of: process.child.pid) == before)
        try expectStillWaiting(process)
    }

    @Test(arguments: [29, 60, 200])
    func `a launch with too many descriptors is refused`(count: Int) throws {
        let process = try paused()
        let before = KernelObjects.descriptorCount(of: process.child.pid)
        var message = try DaemonMessage.go(try go()).encoded().datagram
        message[28] = UInt8(count)
        try process.send(bytes: message, descriptors: [Int32](repeating: 0, count: count))
        #expect(try process.receive() == .error(errno: EPROTO, cookie: 7))
        #expect(KernelObjects.descriptorCount(of: process.child.pid) == before)
        try expectStillWaiting(process)
    }

    @Test func `a descriptor's place is refused if it is given twice or unknown`() throws {
        let process = try paused()
        for roles: [Int32] in [[1, 1], [-1, -1], [-2], [-3], [-4], [1023], [.max], [.min]] {
            var message = try DaemonMessage.go(try go()).encoded().datagram
            message[28] = UInt8(roles.count)
            for (index, role) in roles.enumerated() {
                withUnsafeBytes(of: role.littleEndian) {
                    message.replaceSubrange(48 + 4 * index..<52 + 4 * index, with: $0)
                }
            }
            try process.send(bytes: message, descriptors: [Int32](repeating: 0, count: roles.count))
            #expect(try process.receive() == .error(errno: EPROTO, cookie: 7), "\(roles)")
        }
        try expectStillWaiting(process)
    }

    @Test func `a launch that fails half-way is reported, and main does not run`() throws {
        let process = try paused()
        let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        try process.send(.go(try go(roles: [.workingDirectory])), descriptors: [file])
        #expect(try process.receive() == .error(errno: ENOTDIR, cookie: 7))
        #expect(try process.receive() == nil)
        #expect(try process.child.waitForExit() == .status(0))
    }
}
