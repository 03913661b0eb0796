import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A launch that is requested while the spawner ends is performed once.
@Suite struct RepeatedOrderTests {
    private let app = "org.example.a"
    private let daemon: TestDaemon

    init() throws { daemon = try TestDaemon(program(app, try compileProbe("behave.c"))) }

    /// A launch of an app of which each process writes a line.
    private func order(_ output: Int32) -> Control.LaunchCall {
        var call = Control.LaunchCall(app: app)
        call.arguments = ["print", "ran"].map(ByteString.text)
        call.standardOutput = 0
        return call
    }

    private func launched(
        _ client: TestClient, _ call: Control.LaunchCall
    ) throws -> Control.Launched {
        guard case .launched(let launched) = try client.reply(to: .launch(call)) else {
            throw TestError("another reply")
        }
        return launched
    }

    private func runs(_ path: String) throws -> Int {
        String(decoding: try readFile(path), as: UTF8.self).split(separator: "\n").count
    }

    private func openOutput() throws -> (path: String, number: Int32) {
        let path = daemon.directory.path + "/ran"
        let number = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
        guard number >= 0 else { throw TestError("open: errno \(errno)") }
        return (path, number)
    }

    @Test(arguments: [SIGUSR1, SIGKILL])
    func `an order that finds the spawner gone is performed by the next spawner`(_ signal: Int32)
        throws
    {
        let output = try openOutput()
        defer { close(output.number) }
        let client = try daemon.client()
        _ = try client.list()
        let spawner = try daemon.spawnerPid
        // The supervisor finds the order and the spawner's end in the same turn.
        daemon.signal(SIGSTOP)
        try Processes.wait("it is not stopped") { Processes.state(of: try daemon.pid) == "T" }
        Glibc.kill(spawner, signal)
        if signal == SIGKILL {
            try Processes.awaitEnd(of: spawner)
        } else {
            try Processes.wait("the spawner does not execute itself") {
                Processes.description(of: spawner).contains("--succession")
            }
        }
        let call = order(output.number)
        try client.send(.launch(call), descriptors: [output.number])
        daemon.signal(SIGCONT)
        let instance = try launched(client, call).instance
        #expect(try daemon.client().wait(instance).status == 0)
        #expect(try runs(output.path) == 1)
    }

    @Test func `launches during an upgrade of the spawner all succeed, each once`() throws {
        let output = try openOutput()
        defer { close(output.number) }
        let client = try daemon.client()
        let spawner = try daemon.spawnerPid
        let call = order(output.number)
        var statuses: [UInt8?] = []
        for _ in 0..<60 {
            Glibc.kill(spawner, SIGUSR1)
            // Some launches come before the spawner has gone, some while it is away, and some after
            // that.
            var instances: [UInt64] = []
            for _ in 0..<4 {
                try client.send(.launch(call), descriptors: [output.number])
                instances.append(try launched(client, call).instance)
            }
            for instance in instances { statuses.append(try client.wait(instance).status) }
        }
        #expect(statuses == Array(repeating: 0, count: 240))
        #expect(try daemon.spawnerPid == spawner)
        #expect(try runs(output.path) == 240)
    }
}
