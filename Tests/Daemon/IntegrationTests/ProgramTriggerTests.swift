import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Timers and paths of programs that are not made with the SDK.
@Suite struct ProgramTriggerTests {
    private static let app = "org.example.app"

    private func daemon(_ lines: [String], exec: String) throws -> (TestDaemon, EventWatcher) {
        let daemon = try TestDaemon([])
        let watcher = try daemon.watch()
        try daemon.install(TestApp(Self.app, exec: exec, prewarmLines: lines))
        #expect(try daemon.client().reload().failed.isEmpty)
        return (daemon, watcher)
    }

    @Test func `a timer launches a program in the background, and again after its end`() throws {
        let (daemon, watcher) = try daemon(
            ["[Timer]", "OnUnitActiveSec=100ms"], exec: "/usr/bin/true")
        for _ in 0..<2 {
            let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
            #expect(launched.instance != nil)
        }
        withExtendedLifetime(daemon) {}
    }

    @Test func `a timer launches no second instance of a program that runs`() throws {
        let (daemon, watcher) = try daemon(
            ["[Timer]", "OnUnitActiveSec=100ms"], exec: "/usr/bin/sleep infinity")
        var instances: Set<UInt64> = []
        for _ in 0..<3 {
            let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
            instances.insert(try #require(launched.instance))
        }
        #expect(instances.count == 1)
        withExtendedLifetime(daemon) {}
    }

    @Test func `a file that appears launches a program, and again while it is there`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/there"
        let (daemon, watcher) = try daemon(
            ["[Path]", "PathExists=\(path)", "TriggerLimitBurst=2"], exec: "/usr/bin/true")
        #expect(try daemon.client().instances(of: Self.app).isEmpty)
        try directory.write("", to: "there")
        for _ in 0..<2 { _ = try watcher.next { $0.kind == .launched && $0.app == Self.app } }
    }
}
