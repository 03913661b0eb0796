import Glibc
import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Launching`: how it orders an instance from the spawner, and tells a paused one to go.

@Suite struct `A new instance` {
    private static let key = EnvironmentKey(0)

    /// Why no instance could be spawned, as the core has heard it.
    @LoopActor
    private static func failures(_ ground: Ground) -> [String] {
        ground.recorder.effects.compactMap {
            guard case .answer(_, .refused(.spawnFailed(_, let failure))) = $0 else { return nil }
            return "\(failure.stage) \(failure.errno)"
        }
    }

    @Test func `that cannot be ordered fails with the stage, and its launch is refused`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let manifest = "[App]\nExec=/bin/sleep 9\n"
                let supervisor = try TestSupervisor(["a.b": manifest])
                let shared = supervisor.rooms.shared
                let real = supervisor.rooms.launching.newInstances
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let new = NewInstances(
                    core: ground.core, catalog: shared.catalog, spawner: ground.spawner,
                    contexts: real.contexts, orders: real.orders, reporter: try ground.reporter())

                ground.launch("a.gone")
                new.spawn(
                    ground.recorder.spawned[0], of: AppIdentifier("a.gone"),
                    for: .prewarm(Self.key, .main))
                ground.launch("a.b", as: 2)
                // Nobody knows this request.
                new.spawn(
                    ground.recorder.spawned[1], of: AppIdentifier("a.b"),
                    for: .launch(.request(RequestIdentifier(77)), LaunchTerms()))
                ground.launch("a.b", as: 3)
                new.spawn(
                    ground.recorder.spawned[2], of: AppIdentifier("a.b"),
                    for: .launch(.daemon, LaunchTerms()))
                #expect(
                    Self.failures(ground) == [
                        "finding the manifest \(ENOENT)", "finding the request \(ECANCELED)",
                        "reaching the spawner \(EPIPE)",
                    ])
                let spawner = try ground.connectSpawner()
                ground.launch("a.b", as: 4)
                new.spawn(
                    ground.recorder.spawned[3], of: AppIdentifier("a.b"),
                    for: .launch(.daemon, LaunchTerms()))
                guard case .spawn(let order)? = try spawner.requests().first else {
                    throw TestError("nothing was ordered")
                }
                #expect(order.instance == ground.recorder.spawned[3].rawValue)
                #expect(order.arguments.strings == ["/bin/sleep", "9"])
            }
        }
    }
}

@Suite struct `GO` {
    /// What an app says on its channel.
    private static func say(_ message: AppMessage, on channel: UnixSocket) throws {
        let bytes = try message.encoded()
        _ = try bytes.withUnsafeBytes { try channel.send($0) }
    }

    @Test func `brings the launch to an inspected instance, after the interpreter's words`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let identifier = InstanceIdentifier(1)
                var saved = RecordedState(.launching)
                saved.isToldToGo = true
                var record = InstanceRecord(
                    instance: identifier, app: AppIdentifier("a.b"), generation: 1,
                    environmentKey: EnvironmentKey(0), saved: saved, since: Instant(nanoseconds: 1))
                record.launchKind = .prewarmed
                let spawned = try TestInstance(1, of: "a.b")
                let supervisor = try TestSupervisor(
                    ["a.b": "[App]\nExec=/bin/sleep 9\n"], records: [record],
                    table: [spawned.entry])
                guard case .ping(let cookie)? = try messages(on: spawned.channel).first else {
                    throw TestError("the instance was not asked whether it is still paused")
                }
                let instance = try #require(supervisor.rooms.shared.instances[identifier])
                instance.pause.isInspected = true
                instance.pause.argumentPrefix = [.text("/bin/sh"), .text("/opt/script")]
                supervisor.rooms.launching.launcher.go(identifier, for: .daemon, LaunchTerms())
                guard case .go(let go)? = try messages(on: spawned.channel).first else {
                    throw TestError("the instance was not told to go")
                }
                #expect(go.arguments.strings == ["/bin/sh", "/opt/script", "9"])
                #expect(go.environment.strings.contains("PATH=/usr/bin:/bin"))
                // Its answer to the earlier question would say that the order was lost.
                try Self.say(.pong(cookie: cookie), on: spawned.channel)
                try Self.say(.started(cookie: 0), on: spawned.channel)
                let steps = Steps()
                steps.add {
                } until: {
                    supervisor.record(1)?.launchedAt != nil
                }
                try steps.run()
                #expect(supervisor.record(1)?.endReason == nil)
            }
        }
    }
}
