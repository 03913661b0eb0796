import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The state of supervisor and spawner is damaged before the next ones start.
@Suite struct CorruptStateTests {
    private let app = "org.example.a"

    /// Two apps run and one is paused. Then both daemons are dead, and the test can change their
    /// files.
    private func ruined(
        _ damage: (TestDaemon, inout SeededGenerator) throws -> Void
    ) throws -> (daemon: TestDaemon, pids: [Int32]) {
        let daemon = try TestDaemon([program(app, try compileProbe("behave.c"), prewarm: 1)])
        try daemon.awaitPaused(app)
        let client = try daemon.client()
        let first = try client.launch(app, ["wait-forever"])
        let second = try client.launch(app, ["child", "wait-forever"])
        _ = try client.change(.suspend, second.instance)
        let spawner = try daemon.spawnerPid
        try daemon.kill()
        Glibc.kill(spawner, SIGKILL)
        try Processes.awaitEnd(of: spawner)
        var random = SeededGenerator()
        try damage(daemon, &random)
        try daemon.start()
        return (daemon, [first.processId!, second.processId!])
    }

    private func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try readFile(path)
        body(&bytes)
        let file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw TestError("writing \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Checks that every process belongs to a known instance or has ended, and that apps can be
    /// launched.
    private func check(_ daemon: TestDaemon, _ pids: [Int32]) throws {
        let known = Set(try daemon.client().instances().compactMap(\.processId))
        for pid in pids where !known.contains(pid) { try Processes.awaitEnd(of: pid) }
        let launched = try daemon.client().launch(app, ["exit", "3"])
        #expect(try daemon.client().wait(launched.instance).status == 3)
        try daemon.terminate()
        for pid in pids { #expect(!Processes.isAlive(pid)) }
    }

    @Test func `truncated state loses only what it held, and the daemon starts`() throws {
        let (daemon, pids) = try ruined { daemon, random in
            try change(daemon.runtimeDirectory + "/state") {
                $0.removeLast(Int.random(in: 1..<$0.count, using: &random))
            }
        }
        try check(daemon, pids)
    }

    @Test func `processes from a state of another version are ended, and the daemon starts`() throws
    {
        let (daemon, pids) = try ruined { daemon, _ in
            try change(daemon.runtimeDirectory + "/state") { $0[7] ^= 1 }
        }
        for pid in pids {
            try Processes.awaitEnd(of: pid)
            #expect(daemon.log.contains("the record of process \(pid) is lost: it is killed"))
        }
        #expect(daemon.log.contains("app=\(app)"))
        try check(daemon, pids)
    }

    @Test(arguments: ["state", "instances"])
    func `a file of garbage loses its apps and nothing else`(file: String) throws {
        let (daemon, pids) = try ruined { daemon, random in
            try change("\(daemon.runtimeDirectory)/\(file)") { bytes in
                for index in bytes.indices.prefix(1 << 20) {
                    bytes[index] = UInt8.random(in: .min ... .max, using: &random)
                }
            }
        }
        try check(daemon, pids)
    }

    @Test(arguments: ["state", "instances"])
    func `after any bit is flipped, the daemon starts and knows every running process`(
        file: String
    ) throws {
        for _ in 0..<3 {
            let (daemon, pids) = try ruined { daemon, random in
                try change("\(daemon.runtimeDirectory)/\(file)") { bytes in
                    // Flips a bit where the file has data; most of the file is holes.
                    let used = bytes.indices.filter { bytes[$0] != 0 }
                    for _ in 0..<Int.random(in: 1...16, using: &random) {
                        let index = used.randomElement(using: &random)!
                        bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    }
                }
            }
            try check(daemon, pids)
        }
    }

    @Test func `a supervisor that was killed reports no damage if its state is whole`()
        throws
    {
        let (daemon, pids) = try ruined { _, _ in }
        #expect(!daemon.log.contains("damaged"))
        for pid in pids { #expect(Processes.isAlive(pid)) }
        try check(daemon, pids)
    }
}
