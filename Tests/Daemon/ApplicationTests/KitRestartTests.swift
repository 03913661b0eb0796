import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The supervisor is killed and replaced while an app performs a step or a request.
@Suite struct `Apps whose supervisor is killed` {
    /// An app with scenes that waits at `word`, and asks for another scene when it opens a URL.
    private func kit(waitingAt words: String...) throws -> (KitDaemon, gates: [String]) {
        let directory = try TemporaryDirectory()
        var app = KitApp.scenes()
        app.application.append("URLSchemes=notes")
        let gates = words.indices.map { "\(directory.path).gate\($0)" }
        for gate in gates { mkfifo(gate, 0o600) }
        app.environment = [
            "PROBE_GATES=" + zip(words, gates).map { "\($0)=\($1)" }.joined(separator: ",")
        ]
        let kit = try KitDaemon(app)
        try kit.launch()
        return (kit, gates)
    }

    /// Returns when the app waits at the gate, and lets it go on.
    private func pass(_ gate: String) {
        close(open(gate, O_WRONLY | O_CLOEXEC))
        unlink(gate)
    }

    @Test func `the next supervisor refuses an unanswered request, with the reason`()
        throws
    {
        let (kit, gates) = try kit(waitingAt: "configuration 2")
        try kit.ask(.open(.init(urls: ["notes://another"])))
        let watcher = try kit.daemon.watch()
        // Half of the app's time is over: it was told to connect the scene that it had asked for.
        try watcher.next { $0.kind == .slowStep && $0.step == "willConnect" }
        try kit.daemon.kill()
        try kit.daemon.start()
        pass(gates[0])
        try kit.daemon.await("the scene") { client in
            let scenes = try client.instance(kit.instance).scenes ?? []
            return scenes.count { $0.activation == .foregroundActive } == 2 ? true : nil
        }
        let said = try kit.end()
        #expect(said.count { $0.hasPrefix("refused: greenroomd was restarted") } == 1)
        // The step is told again, but not performed again.
        #expect(said.count { $0.hasPrefix("configuration 2") } == 1)
        #expect(said.count { $0.hasPrefix("2 willConnect") } == 1)
    }

    @Test func `the next supervisor answers a request that was not read`() throws {
        let (kit, gates) = try kit(waitingAt: "scene opens", "asked")
        try kit.ask(.open(.init(urls: ["notes://another"])))
        kit.daemon.signal(SIGSTOP)
        for gate in gates { pass(gate) }
        try kit.daemon.kill()
        try kit.daemon.start()
        try kit.daemon.await("the scene") { client in
            let scenes = try client.instance(kit.instance).scenes ?? []
            return scenes.count { $0.activation == .foregroundActive } == 2 ? true : nil
        }
        let said = try kit.end()
        #expect(!said.contains { $0.hasPrefix("refused") })
        #expect(said.count { $0.hasPrefix("configuration") } == 2)
    }

    @Test(arguments: KitApp.starts, [false, true])
    func `the next supervisor knows the steps of a launch`(prewarm: Int, inBackground: Bool) throws
    {
        let app = inBackground ? KitApp(prewarm: prewarm) : .scenes(prewarm: prewarm)
        let kit = try KitDaemon(app)
        try kit.launch(inBackground: inBackground)
        func steps() throws -> [Control.LaunchStep] {
            try kit.daemon.await("the steps") { client in
                let steps = try client.instance(kit.instance).steps ?? []
                return steps.contains { $0.step == (inBackground ? "background" : "active") }
                    ? steps : nil
            }
        }
        let before = try steps()
        #expect(before.count > 7)
        let watcher = try kit.daemon.watch()
        try kit.daemon.kill()
        try kit.daemon.start()
        let after = try steps()
        #expect(after.map(\.step) == before.map(\.step))
        #expect(after.map(\.elapsedUSec) == before.map(\.elapsedUSec))
        withExtendedLifetime(watcher) {}
    }

    @Test func `a step that was performed but not acknowledged is not performed again`() throws {
        let (kit, gates) = try kit(waitingAt: "1 didEnterBackground")
        try kit.daemon.client().send(.transition(.background, .instance(kit.instance)))
        let watcher = try kit.daemon.watch()
        try watcher.next { $0.kind == .slowStep && $0.step == "didEnterBackground" }
        try kit.daemon.kill()
        try kit.daemon.start()
        pass(gates[0])
        try kit.daemon.awaitState(.background, of: kit.instance)
        #expect(kit.said.count { $0.hasPrefix("1 didEnterBackground") } == 1)
    }

    @Test func `an app that was told to end continues to do so, and ends by itself`() throws {
        let (kit, gates) = try kit(waitingAt: "willTerminate")
        try kit.daemon.client().send(.transition(.terminate, .instance(kit.instance)))
        try kit.daemon.awaitState(.terminating, of: kit.instance)
        try kit.daemon.kill()
        try kit.daemon.start()
        pass(gates[0])
        let exit = try kit.daemon.client().wait(kit.instance)
        #expect(exit.reason == .terminated && exit.status == 0, "\(exit)")
        #expect(kit.said.count { $0 == "willTerminate" } == 1)
    }
}
