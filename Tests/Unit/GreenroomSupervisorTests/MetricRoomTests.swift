import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Measuring`, on a core and on real files.

@Suite struct `The metrics of an app` {
    @Test func `count its times and ends, and are continued by the next supervisor`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let app = try #require(
                    try ground.load(["a.b": "[App]\nExec=/bin/true\n"]).apps.first)
                let catalog = AppCatalog()
                _ = catalog.replace(with: [app], former: [])
                let messenger = AppMessenger(
                    instances: ground.instances, reporter: try ground.reporter())
                @LoopActor func room(_ instances: InstanceTable) -> Metrics {
                    let books = MetricBooks(
                        log: ground.log, stateDirectory: ground.folder.path,
                        inUse: { InstanceTimes.keys(of: instances) })
                    let times = InstanceTimes(
                        core: ground.core, catalog: catalog, instances: instances, books: books,
                        interval: 86_400_000_000)
                    return Metrics(
                        core: ground.core, catalog: catalog, instances: instances, books: books,
                        times: times,
                        deliveries: MetricDeliveries(
                            times: times, books: books, instances: instances,
                            messenger: messenger, log: ground.log,
                            lastAdopted: InstanceIdentifier(0)))
                }
                var metrics = room(ground.instances)
                ground.recorder.respond = {
                    if case .report(let occurrence) = $0 { metrics.note(occurrence) }
                }
                ground.launch("a.b")
                let first = ground.recorder.spawned[0]
                ground.core.handle(.spawned(first))
                let running = try #require(metrics.settled(app.identifier))
                #expect(running.total.foregroundTime > 0 && running.total.backgroundTime == 0)
                #expect(running.total.foregroundExits.isEmpty)

                // The next supervisor reads what this one has written, and goes on counting.
                metrics = room(
                    InstanceTable(
                        core: ground.core, log: ground.log, spawner: ground.spawner,
                        disposer: try Disposer()))
                metrics.adopt(ground.core.lifecycle.instances)
                ground.core.handle(.exited(first, .exited(0)))
                ground.core.handle(.emptied(first))
                let ended = try #require(metrics.settled(app.identifier))
                #expect(ended.total.foregroundTime > running.total.foregroundTime)
                #expect(ended.total.foregroundExits.values.reduce(0, +) == 1)
                #expect(ended.total.begin == running.total.begin)
                // It has ended, so no time passes for it.
                #expect(
                    metrics.settled(app.identifier)?.total.foregroundTime
                        == ended.total.foregroundTime)
            }
        }
    }
}
