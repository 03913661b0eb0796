import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Apps that the daemon keeps running, through the real daemon.
@Suite struct SupervisionTests {
    private static let app = "org.example.app"

    private func make(
        _ words: String, _ lines: [String], named name: String = Self.app
    ) throws -> TestApp {
        TestApp(name, exec: "\(try compileProbe("behave.c")) \(words)", prewarmLines: lines)
    }

    @Test(arguments: [0, 1])
    func `a crashed app is restarted, but not after a client ended it`(prewarm: Int) throws {
        var app = try make(
            "wait-forever", ["[Supervision]", "Restart=on-failure", "RestartSec=10ms"])
        app.prewarmCount = prewarm
        let daemon = try TestDaemon(app)
        try daemon.awaitPaused(Self.app, count: prewarm)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let first = try client.launch(Self.app)
        kill(first.processId!, SIGSEGV)
        try watcher.next { $0.kind == .restartScheduled && $0.app == Self.app }
        let second = try watcher.next { $0.kind == .launched && $0.app == Self.app }.instance!
        #expect(try client.instance(second).restartCount == 1)
        let status = try #require(try client.explain(Self.app).supervision)
        #expect(status.restart == "on-failure" && status.restartCount == 1)
        try client.change(.terminate, second)
        #expect(try client.explain(Self.app).supervision?.nextStartUSec == nil)
        // A pending restart would happen before this launch.
        #expect(try client.instances(of: Self.app).allSatisfy { $0.exit != nil || $0.kind == nil })
    }

    @Test func `an app that reaches the start limit is given up until reset-failed`() throws {
        let daemon = try TestDaemon(
            try make(
                "exit 1",
                ["[Supervision]", "Restart=always", "RestartSec=0", "StartLimitBurst=2"]))
        let client = try daemon.client()
        let watcher = try daemon.watch()
        _ = try client.launch(Self.app)
        try watcher.next { $0.kind == .failed && $0.app == Self.app }
        #expect(try client.explain(Self.app).supervision?.failed?.code == "start_limit")
        #expect {
            try client.launch(Self.app) { $0.isBackground = true }
        } throws: {
            if case ControlError.refused(code: "failed", _) = $0 { true } else { false }
        }
        try client.call(.resetFailed(app: Self.app))
        #expect(try client.explain(Self.app).supervision?.failed == nil)
    }

    @Test func `an app with a permanent failure is not restarted`() throws {
        let daemon = try TestDaemon(
            try make("exit 77", ["[Supervision]", "Restart=always", "RestartPreventExitStatus=77"]))
        let client = try daemon.client()
        let watcher = try daemon.watch()
        _ = try client.launch(Self.app)
        try watcher.next { $0.kind == .failed && $0.app == Self.app }
        #expect(try client.explain(Self.app).supervision?.failed?.code == "permanent_status")
    }

    @Test func `a restart that is due survives the supervisor`() throws {
        let daemon = try TestDaemon(
            try make("exit 1", ["[Supervision]", "Restart=on-failure", "RestartSec=100"]))
        let client = try daemon.client()
        let watcher = try daemon.watch()
        _ = try client.launch(Self.app)
        try watcher.next { $0.kind == .restartScheduled }
        let before = try #require(try client.explain(Self.app).supervision?.nextStartUSec)
        try daemon.kill()
        try daemon.start()
        let after = try #require(try daemon.client().explain(Self.app).supervision?.nextStartUSec)
        #expect(after <= before && after > 0)
    }

    @Test func `a required app is started first, and its failure is reported`() throws {
        let daemon = try TestDaemon(
            try make("wait-forever", ["[Dependencies]", "Requires=org.example.base"]),
            try make("notify wait-forever", [], named: "org.example.base"),
            try make(
                "wait-forever", ["[Dependencies]", "Requires=org.example.bad"],
                named: "org.example.sad"),
            TestApp("org.example.bad", exec: "/bin/false", "ReadyOn=notify"))
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        let base = try #require(try client.instances(of: "org.example.base").first)
        #expect(base.instance < launched.instance)
        do {
            _ = try client.launch("org.example.sad")
            Issue.record("it was launched")
        } catch ControlError.refused(let code, let reason) {
            #expect(code == "dependency")
            #expect(
                reason == "org.example.sad requires org.example.bad, which could not be started: "
                    + "org.example.bad ended before it was ready: exited_self")
        }
    }

    @Test func `a conflicting app is ended first`() throws {
        let daemon = try TestDaemon(
            try make("wait-forever", ["[Dependencies]", "Conflicts=org.example.rival"]),
            try make("wait-forever", [], named: "org.example.rival"))
        let client = try daemon.client()
        let rival = try client.launch("org.example.rival")
        _ = try client.launch(Self.app)
        #expect(try client.instance(rival.instance).exit?.reason == .conflict)
    }

    @Test func `ending an app drops its launch that waits for other apps`() throws {
        let daemon = try TestDaemon(
            try make("wait-forever", ["[Dependencies]", "Requires=org.example.slow"]),
            TestApp(
                "org.example.slow", exec: "\(try compileProbe("behave.c")) wait-forever",
                "ReadyOn=notify"))
        let waiting = try daemon.client()
        let watcher = try daemon.watch()
        try waiting.send(.launch(.init(app: Self.app)))
        try watcher.next { $0.kind == .launched && $0.app == "org.example.slow" }
        let client = try daemon.client()
        #expect(throws: ControlError.self) {
            try client.call(.transition(.terminate, .app(Self.app)))
        }
        #expect {
            try waiting.reply(to: .launch(.init(app: Self.app)))
        } throws: {
            if case ControlError.refused(code: "cancelled", _) = $0 { true } else { false }
        }
    }

    @Test func `listening also makes an app ready without cgroups`() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o777)
        let daemon = try TestDaemon(
            TestApp(
                Self.app,
                exec: "\(try compileProbe("accept.c")) listen \(directory.path)/own",
                "ReadyOn=listening"), options: .asNobody)
        let watcher = try daemon.watch()
        let launched = try daemon.client().launch(Self.app)
        try watcher.awaitState(.active, of: launched.instance)
    }

    @Test func `apps that require each other in a circle are refused by name`() throws {
        let daemon = try TestDaemon(
            try make("wait-forever", ["[Dependencies]", "Requires=org.example.b"]),
            try make(
                "wait-forever", ["[Dependencies]", "After=\(Self.app)"], named: "org.example.b"))
        #expect(try daemon.client().list().isEmpty)
        #expect(daemon.log.contains("in a circle: org.example.app -> org.example.b"))
    }
}
