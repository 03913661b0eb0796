import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Shells that report the foreground on the session's message bus.
@Suite struct `The foreground on the message bus` {
    private static let (one, two) = ("org.example.one", "org.example.two")

    /// A shell, which stays on the bus until it hangs up.
    private final class Shell {
        private let process: ChildProcess
        private let input: Pipe
        private let output: Pipe

        init(_ bus: SessionBus) throws {
            let probe = try compileProbe(
                "report.c", with: ProbeCompiler("clang", ["-D_GNU_SOURCE", "-lsystemd"]))
            (input, output) = (try Pipe(), try Pipe())
            var request = ChildRequest(
                probe, environment: ["DBUS_SESSION_BUS_ADDRESS=\(bus.address)"])
            request.descriptors = [0: input.readEnd, 1: output.writeEnd]
            process = try ChildProcess(request)
            output.closeWriteEnd()
        }

        /// Makes the call that the line names. Returns "done", or the error's name.
        func call(_ line: String) throws -> String {
            let bytes = Array((line + "\n").utf8)
            guard write(input.writeEnd, bytes, bytes.count) == bytes.count else {
                throw TestError("the shell does not read")
            }
            var text: [UInt8] = []
            var byte: UInt8 = 0
            while read(output.readEnd, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                text.append(byte)
            }
            return String(decoding: text, as: UTF8.self)
        }

        func hangUp() throws {
            input.closeWriteEnd()
            _ = try process.waitForExit()
        }
    }

    private func awaitState(
        _ daemon: TestDaemon, _ instance: UInt64, _ state: Control.ExecutionState
    ) throws {
        try daemon.await("\(state) of \(instance)") { client in
            try client.instance(instance).state.known == state ? true : nil
        }
    }

    /// A session's bus that starts greenroom-foreground for its name.
    private func bus(for daemon: TestDaemon) throws -> SessionBus {
        let bus = try SessionBus(for: daemon)
        let program = try Programs.built("greenroom-foreground")
        try bus.directory.write(
            "[D-BUS Service]\nName=io.greenroom.Foreground\n"
                + "Exec=\(program) --bus --socket \(daemon.socketPath)\n",
            to: "services/io.greenroom.Foreground.service")
        return bus
    }

    @Test func `is not changed by a hint, which prewarms the app`() throws {
        var app = TestApp(Self.one, exec: "sleep 10000", prewarm: 1)
        app.prewarmLines = ["When=demand"]
        let daemon = try TestDaemon(app, TestApp(Self.two, exec: "sleep 10000"))
        let bus = try bus(for: daemon)
        defer { bus.end() }
        #expect(try daemon.client().paused(Self.one).isEmpty)
        let shell = try Shell(bus)
        #expect(try shell.call("Prepare \(Self.one)") == "done")
        try daemon.awaitPaused(Self.one)
        // The hint is no report. This app cannot be prewarmed, and that one does not exist.
        #expect(try shell.call("Prepare \(Self.two)") == "org.freedesktop.DBus.Error.Failed")
        #expect(try shell.call("ReportApp \(Self.one)") == "done")
        #expect(try shell.call("Prepare org.example.absent") == "org.freedesktop.DBus.Error.Failed")
        // A daemon that has restarted is told as well.
        try daemon.kill()
        try daemon.start()
        #expect(try shell.call("Prepare \(Self.one)") == "done")
        try shell.hangUp()
    }

    @Test func `is heard from a shell that comes as the last one leaves`() throws {
        let daemon = try TestDaemon(TestApp(Self.one, exec: "sleep 10000"))
        let bus = try bus(for: daemon)
        defer { bus.end() }
        for _ in 0..<30 {
            let (former, next) = (try Shell(bus), try Shell(bus))
            #expect(try former.call("ReportNone") == "done")
            #expect(try next.call("Explode").hasPrefix("org.freedesktop.DBus.Error.Unknown"))
            try former.hangUp()
            #expect(try next.call("ReportApp \(Self.one)") == "done")
            try next.hangUp()
        }
    }

    @Test func `is what the latest of the remaining callers says`() throws {
        let apps = [Self.one, Self.two].map { name in
            var app = TestApp(name, exec: "sleep 10000")
            app.lines = ["ForegroundGroup=none"]
            return app
        }
        let daemon = try TestDaemon(apps)
        let bus = try bus(for: daemon)
        defer { bus.end() }
        let client = try daemon.client()
        let (first, second) = (try client.launch(Self.one), try client.launch(Self.two))
        let process = try #require(first.processId)

        // The daemon need not get a report that the next one overtakes, so the test awaits each.
        try client.change(.background, first.instance)
        let shell = try Shell(bus)
        #expect(try shell.call("ReportProcess \(process)") == "done")
        try awaitState(daemon, first.instance, .active)
        #expect(try shell.call("ReportApp \(Self.two)") == "done")
        try awaitState(daemon, first.instance, .background)
        #expect(try shell.call("ReportProcess \(process)") == "done")
        try awaitState(daemon, second.instance, .background)
        for line in ["ReportProcess 0", "ReportProcess", "Explode"] {
            #expect(try shell.call(line).hasPrefix("org.freedesktop.DBus.Error."))
        }
        let other = try Shell(bus)
        #expect(try other.call("ReportNone") == "done")
        try awaitState(daemon, first.instance, .background)
        // The report of the shell that stays counts again.
        try other.hangUp()
        try awaitState(daemon, first.instance, .active)
        let helper = try #require(
            Processes.mentioning(daemon.socketPath).first {
                Processes.description(of: $0).contains("/greenroom-foreground ")
            })
        // The program ends with its last caller, and so do its reports: no app moves.
        try shell.hangUp()
        try Processes.awaitEnd(of: helper)
        #expect(try client.instance(first.instance).state == .active)
        #expect(try client.instance(second.instance).state == .background)
    }
}
