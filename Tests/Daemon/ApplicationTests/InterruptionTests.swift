import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The app in front is inactive while something covers it, and protected data is unavailable during
/// a lock.
@Suite struct `Interruptions of apps in front` {
    private static let program = "org.example.program"

    @Test func `make an app without scenes inactive, and it is active again afterwards`() throws {
        let kit = try KitDaemon(KitApp())
        try kit.launch()
        #expect(try kit.change(.interrupt) == .inactive)
        #expect(try kit.change(.endInterruption) == .active)
        let client = try kit.daemon.client()
        _ = try client.ask(.lock(user: nil))
        try kit.awaitState(.inactive)
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        let data = "token=nil, absent=nil"
        #expect(
            try kit.end().dropFirst(5) == [
                "didBecomeActive active", "willResignActive active", "didBecomeActive active",
                "willResignActive active", "protectedDataWillBecomeUnavailable \(data)",
                "protectedDataDidBecomeAvailable \(data)", "didBecomeActive active",
                "willTerminate",
            ])
    }

    @Test func `make the scenes in front inactive`() throws {
        let kit = try KitDaemon(.scenes())
        try kit.launch()
        let before = kit.said.count
        #expect(try kit.change(.interrupt) == .inactive)
        let scene = try #require(try kit.daemon.client().instance(kit.instance).scenes?.first)
        #expect(scene.activation == .known(.foregroundInactive))
        #expect(try kit.change(.endInterruption) == .active)
        #expect(
            kit.said.dropFirst(before) == [
                "1 willResignActive foregroundActive app active",
                "1 didBecomeActive foregroundActive app active",
            ])
    }

    @Test func `show in the status of a program, and are refused in the background`() throws {
        let daemon = try TestDaemon([TestApp(Self.program, exec: "/bin/sleep 1000")])
        let client = try daemon.client()
        let instance = try client.launch(Self.program).instance
        try daemon.awaitState(.active, of: instance)
        #expect(try client.change(.interrupt, instance) == .inactive)
        _ = try client.ask(.lock(user: nil))
        #expect(try client.change(.endInterruption, instance) == .inactive)
        _ = try client.ask(.unlock(user: nil))
        try daemon.awaitState(.active, of: instance)
        #expect(try client.change(.background, instance) == .background)
        #expect(throws: ControlError.self) { try client.change(.interrupt, instance) }
        try client.change(.kill, instance)
    }

    @Test func `are told by a desktop's shell on the message bus`() throws {
        let kit = try KitDaemon(KitApp("org.example.kit"))
        try kit.launch()
        let bus = try SessionBus(for: kit.daemon)
        defer { bus.end() }
        try bus.install("org.example.kit")
        let name = "io.greenroom.Application."
        for (method, state) in [
            ("Interrupt", Control.ExecutionState.inactive), ("EndInterruption", .active),
        ] {
            let (isDone, text) = try bus.call(
                "org.example.kit", "/org/example/kit", name + method)
            #expect(isDone, "\(text)")
            #expect(try kit.daemon.client().instance(kit.instance).state == .known(state))
        }
        for method in [name + "Activate", "org.freedesktop.Application.Interrupt"] {
            let text = try bus.call("org.example.kit", "/org/example/kit", method).text
            #expect(text.contains("UnknownMethod"), "\(text)")
        }
    }

    @Test func `last over a restart of the supervisor`() throws {
        let kit = try KitDaemon(KitApp())
        try kit.launch()
        try kit.change(.interrupt)
        try kit.daemon.kill()
        try kit.daemon.start()
        #expect(try kit.daemon.client().instance(kit.instance).state == .inactive)
        #expect(try kit.change(.endInterruption) == .active)
    }
}

@Suite struct `Credentials of apps that run when the session is locked` {
    private static let program = "org.example.program"

    private func kit(_ lines: String...) throws -> KitDaemon {
        var app = KitApp()
        app.lines = ["SetCredential=token:s3cret"] + lines
        app.application = ["URLSchemes=probe"]
        app.environment = ["PROBE_DATA=1"]
        return try KitDaemon(app)
    }

    private func directory(_ daemon: TestDaemon, _ instance: UInt64) -> String {
        "\(daemon.runtimeDirectory)/credentials/\(instance)"
    }

    private func awaitDirectory(_ isThere: Bool, _ daemon: TestDaemon, _ instance: UInt64) throws {
        try awaitChange(in: daemon.runtimeDirectory + "/credentials", "directory: \(isThere)") {
            (access(directory(daemon, instance), F_OK) == 0) == isThere
        }
    }

    @Test(arguments: [false, true])
    func `are gone for a program until the unlock, even over a restart`(isRestarted: Bool) throws {
        var app = TestApp(Self.program, exec: "/bin/sleep 1000")
        app.lines.append("SetCredential=token:s3cret")
        let daemon = try TestDaemon([app])
        let instance = try daemon.client().launch(Self.program).instance
        let file = directory(daemon, instance) + "/token"
        #expect(access(file, R_OK) == 0)
        _ = try daemon.client().ask(.lock(user: nil))
        #expect(access(directory(daemon, instance), F_OK) != 0)
        if isRestarted {
            try daemon.kill()
            try daemon.start()
            #expect(access(directory(daemon, instance), F_OK) != 0)
        }
        _ = try daemon.client().ask(.unlock(user: nil))
        #expect(try readFile(file) == Array("s3cret".utf8))
    }

    @Test func `are there while an SDK app is told of the lock, gone afterwards, and come back`()
        throws
    {
        let kit = try kit()
        try kit.launch()
        let client = try kit.daemon.client()
        _ = try client.ask(.lock(user: nil))
        try awaitDirectory(false, kit.daemon, kit.instance)
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        #expect(
            kit.said.dropFirst(6) == [
                "willResignActive active data true directory true",
                "protectedDataWillBecomeUnavailable token=s3cret, absent=nil data true directory true",
                "protectedDataDidBecomeAvailable token=s3cret, absent=nil data true directory true",
                "didBecomeActive active data true directory true",
            ])
    }

    @Test func `are gone in time for an app that does not answer`() throws {
        let kit = try kit()
        try kit.launch()
        kill(kit.pid, SIGSTOP)
        defer { kill(kit.pid, SIGCONT) }
        _ = try kit.daemon.client().ask(.lock(user: nil))
        #expect(access(directory(kit.daemon, kit.instance), F_OK) == 0)
        try awaitDirectory(false, kit.daemon, kit.instance)
    }

    @Test func `are unavailable to a suspended app from its first callback after the lock`() throws
    {
        let kit = try kit()
        try kit.launch()
        try kit.change(.suspend)
        let before = kit.said.count
        _ = try kit.daemon.client().ask(.lock(user: nil))
        #expect(access(directory(kit.daemon, kit.instance), F_OK) != 0)
        _ = try kit.daemon.client().handled(.open(.init(urls: ["probe:secret"])))
        try kit.awaitState(.inactive)
        #expect(
            kit.said.dropFirst(before) == [
                "willEnterForeground background data false directory false",
                "open probe:secret from - inactive",
                "secret token: unavailable, absent: unavailable",
            ])
        _ = try kit.daemon.client().ask(.unlock(user: nil))
        try kit.awaitState(.active)
        #expect(
            kit.said.dropFirst(before + 3) == [
                "protectedDataDidBecomeAvailable token=s3cret, absent=nil data true directory true",
                "didBecomeActive active data true directory true",
            ])
    }

    @Test func `are there again for an app that was suspended during the lock`() throws {
        let kit = try kit()
        try kit.launch()
        try kit.change(.suspend)
        let before = kit.said.count
        _ = try kit.daemon.client().ask(.lock(user: nil))
        _ = try kit.daemon.client().ask(.unlock(user: nil))
        try kit.change(.foreground)
        #expect(
            kit.said.dropFirst(before) == [
                "protectedDataDidBecomeAvailable token=s3cret, absent=nil data true directory true",
                "willEnterForeground background data true directory true",
                "didBecomeActive active data true directory true",
            ])
    }
}
