import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
@testable import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `An app that is installed` {
    @Test func `listens, starts when it is enabled, and leaves nothing when it is removed`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let spawner = try ground.connectSpawner()
                let socket = ground.folder.path + "/socket"
                let text = "[App]\nExec=/bin/true\n[Socket]\nListenStream=\(socket)\n"
                let app = try #require(try ground.load(["a.b": text]).apps.first)
                app.startOccasions = [.boot]
                let registration = try ground.registration()
                #expect(registration.add(app).isEmpty)
                guard case .keep(let name, _)? = try spawner.requests().first else {
                    throw TestError("the spawner was not told to keep the socket")
                }
                #expect(ground.recorder.spawned.isEmpty)
                ground.core.handle(.restored)
                #expect(ground.recorder.spawned.count == 1)

                registration.remove(app.identifier, isGone: true)
                #expect(ground.core.lifecycle.description(of: app.identifier) == nil)
                guard case .drop(name)? = try spawner.requests().first else {
                    throw TestError("the spawner still keeps the socket")
                }
            }
        }
    }
}

@Suite struct `Work that an app scheduled` {
    @Test func `is restored from its file once, and again if the app returns`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let text = """
                    [App]
                    Type=application-kit
                    Exec=/bin/true
                    [Application]
                    ScheduledTasks=refresh
                    """
                let app = try #require(try ground.load(["a.b": text]).apps.first)
                let tasks = AppTasks(requests: [
                    ScheduledTask(identifier: "refresh", kind: .appRefresh)
                ])
                let path = ground.folder.path + "/state"
                try TaskFiles(stateDirectory: path).save(tasks, of: app.identifier)
                let work = BackgroundWork(
                    core: ground.core, catalog: AppCatalog(), instances: ground.instances,
                    messenger: AppMessenger(
                        instances: ground.instances, reporter: try ground.reporter()),
                    inspector: ConditionInspector(
                        machine: MachineCondition(root: path), DaemonConfiguration()),
                    log: ground.log, stateDirectory: path, DaemonConfiguration())
                @LoopActor func pending() -> AppTasks {
                    ground.core.lifecycle.tasks(of: app.identifier)
                }

                var policy = Policy()
                policy.offersScheduledWork = false
                ground.core.handle(.policyChanged(policy))
                ground.core.handle(.appInstalled(app.description))
                work.update([app])
                #expect(pending() == AppTasks())
                ground.core.handle(.policyChanged(Policy()))
                work.update([app])
                #expect(pending() == tasks)
                // Nobody performs effects here, so the file still has what the app cancels.
                ground.core.handle(.tasksCancelled(app.identifier, nil))
                work.update([app])
                #expect(pending() == AppTasks())
                ground.core.handle(.appRemoved(app.identifier))
                work.update([])
                ground.core.handle(.appInstalled(app.description))
                work.update([app])
                #expect(pending() == tasks)
            }
        }
    }
}
