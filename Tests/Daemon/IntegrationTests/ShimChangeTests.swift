import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The preload shim is replaced, as by an upgrade: instances that the old one has paused are stale.
@Suite struct ShimChangeTests {
    private static let app = "org.example.app"
    private let folder: TemporaryDirectory
    private let daemon: TestDaemon
    private let old: Control.InstanceStatus

    init() throws {
        folder = try TemporaryDirectory()
        var options = TestDaemon.Options()
        options.shim = try folder.copy(try prewarmShim(), to: "shim.so")
        daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1), options: options)
        old = try #require(try daemon.awaitPaused(Self.app).first)
    }

    /// Waits until the old instance has ended and the paused one has the new file mapped.
    private func expectReplacement() throws {
        let client = try daemon.client()
        #expect(try client.wait(old.instance).reason == .stale)
        try Processes.awaitEnd(of: try #require(old.processId))
        let new = try #require(try daemon.awaitPaused(Self.app).first)
        #expect(new.instance != old.instance)
        let maps = String(
            decoding: try readFile("/proc/\(try #require(new.processId))/maps"), as: UTF8.self)
        #expect(maps.contains("\(folder.path)/shim.so\n"))
        let launched = try client.launch(Self.app, ["exit", "4"])
        #expect(launched.kind == .prewarmed)
        #expect(launched.instance == new.instance)
        #expect(try client.wait(launched.instance).status == 4)
    }

    @Test func `a replaced shim makes paused instances stale`() throws {
        try folder.copy(try prewarmShim(), to: "shim.so")
        try expectReplacement()
    }

    @Test func `a shim that is replaced while the supervisor is away makes paused instances stale`()
        throws
    {
        try daemon.kill()
        try folder.copy(try prewarmShim(), to: "shim.so")
        try daemon.start()
        try expectReplacement()
    }

    @Test func `a shim that is deleted and written again, as by install(1), is used again`() throws
    {
        unlink(folder.path + "/shim.so")
        #expect(try daemon.client().wait(old.instance).reason == .stale)
        try folder.copy(try prewarmShim(), to: "shim.so")
        try expectReplacement()
    }
}
