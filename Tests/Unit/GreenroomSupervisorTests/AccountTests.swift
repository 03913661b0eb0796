import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The account of a launch` {
    @Test func `says how it was served and how it ended`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let accounts = LaunchAccounts(
                    core: ground.core, catalog: AppCatalog(), instances: ground.instances,
                    history: ground.history().history)
                var noted: [Control.LaunchRecord] = []
                ground.recorder.respond = {
                    guard case .report(let occurrence) = $0 else { return }
                    if let launch = accounts.note(occurrence) { noted.append(launch) }
                }
                ground.launch("a.b", as: 7)
                let instance = ground.recorder.spawned[0]
                ground.core.handle(.spawned(instance))
                #expect(noted.last?.kind == .known(.cold))
                #expect(noted.last?.coldReason == .known(.prewarmingDisabled))
                #expect(noted.last?.exit == nil)
                ground.core.handle(.exited(instance, .exited(3)))
                ground.core.handle(.emptied(instance))
                let last = try #require(noted.last)
                #expect(last.app == "a.b" && last.instance == instance.rawValue)
                #expect(last.launchIdentifier == "7")
                #expect(last.exit?.reason == .known(.exitedSelf) && last.exit?.status == 3)
                #expect(last.ranUSec != nil)

                // An instance that nobody launched has no account.
                let count = noted.count
                ground.core.handle(
                    .appInstalled(AppDescription(identifier: AppIdentifier("a.c"))))
                ground.core.handle(.restored)
                let paused = try #require(ground.recorder.spawned.dropFirst().first)
                ground.core.handle(.spawned(paused))
                ground.core.handle(.exited(paused, .exited(0)))
                ground.core.handle(.emptied(paused))
                #expect(noted.count == count)
            }
        }
    }
}

@Suite struct `What the daemon has to do without` {
    @Test func `is noted once for each reason, and forgotten with the spawner that lacked it`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let degradations = Degradations(log: ground.log)
                for (code, text) in [
                    ("no_cgroups", "first"), ("settings", "a fault"), ("no_cgroups", "second"),
                ] {
                    degradations.note(Control.Note(code: code, text: text))
                }
                #expect(degradations.notes.map(\.text) == ["a fault", "second"])
                degradations.forgetSpawners()
                #expect(degradations.notes.map(\.code) == ["settings"])
                degradations.forget("settings")
                #expect(degradations.notes.isEmpty)
            }
        }
    }
}
