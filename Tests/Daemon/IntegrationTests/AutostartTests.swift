import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Apps that start by themselves.
@Suite struct AutostartTests {
    private static let app = "org.example.app"

    /// A daemon that has not started the app yet: the app was enabled while the daemon did not run.
    private func daemon(_ occasion: String) throws -> TestDaemon {
        let daemon = try TestDaemon([])
        try daemon.terminate()
        try daemon.install(
            TestApp(
                Self.app, exec: "\(try compileProbe("behave.c")) wait-forever",
                prewarmLines: ["[Install]", "WantedBy=\(occasion)"]))
        let folder = "\(daemon.appDirectory)/\(occasion).wants"
        mkdir(folder, 0o755)
        symlink("../\(Self.app).app", "\(folder)/\(Self.app).app")
        try daemon.start()
        return daemon
    }

    private func running(_ daemon: TestDaemon) throws -> [Control.InstanceStatus] {
        try daemon.client().instances(of: Self.app).filter { $0.exit == nil }
    }

    @Test(arguments: ["boot", "login"])
    func `an enabled app is started once, not again by a restart of the daemon`(
        occasion: String
    ) throws {
        let daemon = try daemon(occasion)
        let first = try #require(try running(daemon).first)
        try daemon.kill()
        try daemon.start()
        #expect(try running(daemon).map(\.instance) == [first.instance])
        try daemon.client().change(.terminate, first.instance)
        try daemon.kill()
        try daemon.start()
        #expect(try running(daemon).isEmpty)
    }

    @Test func `an app that is enabled while the daemon runs waits for the next boot`() throws {
        let daemon = try TestDaemon([])
        try daemon.install(
            TestApp(Self.app, exec: "/bin/sleep 100", prewarmLines: ["[Install]", "WantedBy=boot"]))
        let folder = "\(daemon.appDirectory)/boot.wants"
        mkdir(folder, 0o755)
        symlink("../\(Self.app).app", "\(folder)/\(Self.app).app")
        #expect(try daemon.client().reload().loaded == [Self.app])
        #expect(try running(daemon).isEmpty)
    }
}
