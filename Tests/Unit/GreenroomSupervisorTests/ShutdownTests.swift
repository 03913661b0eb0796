import Glibc
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The end of a daemon that systemd does not manage` {
    @Test func `ends the apps and then the spawner, which it gives no time if asked again`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let spawned = try TestInstance(1, of: "a.b")
                var saved = RecordedState(.background)
                saved.launchedAt = Instant(nanoseconds: 2)
                let supervisor = try TestSupervisor(
                    ["a.b": "[App]\nExec=/bin/sleep 9\n[Prewarm]\nWhen=never\n"],
                    records: [
                        InstanceRecord(
                            instance: InstanceIdentifier(1), app: AppIdentifier("a.b"),
                            generation: 1, environmentKey: EnvironmentKey(0), saved: saved,
                            since: Instant(nanoseconds: 1))
                    ], table: [spawned.entry])
                let rooms = supervisor.rooms
                let shutdown = Shutdown(
                    core: supervisor.core, unwritten: rooms.unwritten,
                    machine: rooms.machine.events,
                    temporaryFolders: rooms.shared.temporaryFolders,
                    reconnection: rooms.recovery.reconnection)
                @LoopActor func graces() throws -> [UInt32] {
                    try supervisor.spawner.requests().compactMap {
                        if case .shutDown(let grace) = $0 { grace } else { nil }
                    }
                }
                shutdown.begin()
                // The app has got SIGTERM and has not ended yet.
                #expect(try graces().isEmpty)
                #expect(supervisor.phase(1) == .ending)
                supervisor.hear(.exited(instance: 1, .exited(0)))
                supervisor.hear(.emptied(instance: 1))
                #expect(try graces() == [1000])
                shutdown.begin()
                #expect(try graces() == [0])
                // When the spawner is gone, so is the daemon.
                rooms.recovery.reconnection.lost()
                #expect(LoopActor.shared.loop.run() == 0)
            }
        }
    }

    @Test func `asked for twice kills apps that have not ended`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(["a.b": "[App]\nExec=/bin/sleep 9\n"])
                supervisor.launch("a.b")
                let rooms = supervisor.rooms
                let shutdown = Shutdown(
                    core: supervisor.core, unwritten: rooms.unwritten,
                    machine: rooms.machine.events,
                    temporaryFolders: rooms.shared.temporaryFolders,
                    reconnection: rooms.recovery.reconnection)
                shutdown.begin()
                _ = try supervisor.spawner.requests()
                shutdown.begin()
                guard case .shutDown(graceMilliseconds: 0)? = try supervisor.spawner.requests().last
                else { throw TestError("the spawner was not told to end") }
            }
        }
    }
}
