import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Watching`, with all rooms below it and a spawner that the test plays. The test also plays
// the process that watches.

@Suite struct `The watch of an instance's names` {
    @LoopActor
    private static func orders(_ supervisor: TestSupervisor) throws -> [SpawnSpecification] {
        try supervisor.spawner.requests().compactMap {
            if case .spawn(let order) = $0 { order } else { nil }
        }
    }

    @Test func `is a process of its own, and the instance waits until it watches the name`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(
                    [
                        "a.b":
                            "[App]\nType=application-kit\nExec=/bin/sleep 9\n[Prewarm]\nWhen=boot\n"
                    ])
                let watches = supervisor.rooms.launching.watches
                var (instance, prewarm) = (InstanceIdentifier(0), TestInstance?.none)
                var socket: UnixSocket?
                var told: [DaemonMessage] = []
                let steps = Steps()
                steps.add {
                } until: {
                    let order = (try? Self.orders(supervisor))?.first
                    instance = InstanceIdentifier(order?.instance ?? 0)
                    return order != nil
                }
                steps.add {
                    let spawned = try TestInstance(instance.rawValue, of: "a.b")
                    prewarm = spawned
                    supervisor.hear(.spawned(spawned.entry))
                    watches.watch("org.example.One", for: instance)
                    let order = try #require(try Self.orders(supervisor).first)
                    #expect(order.path == supervisor.folder.path + "/no-bus")
                    #expect(SpawnNumber(order.instance) == .watch(instance))
                    // A second name goes to the same process.
                    watches.watch("org.example.Two", for: instance)
                    #expect(try Self.orders(supervisor).isEmpty)
                    let passed = try #require(order.descriptors.first { $0.target == 0 })
                    let process = UnixSocket(try #require(passed.descriptor))
                    socket = process
                    var buffer = [UInt8](repeating: 0, count: 100)
                    let count = read(process.descriptor.rawValue, &buffer, buffer.count)
                    let name = String(decoding: buffer.prefix(count), as: UTF8.self)
                    #expect(name == "org.example.One")
                    supervisor.hear(.spawned(try TestInstance(order.instance, of: "a.b").entry))
                    // Nobody has asked for the first of these names.
                    for name in ["org.example.Three", "org.example.One"] {
                        _ = try process.send(Array("watched \(name)".utf8))
                    }
                } until: {
                    told += prewarm.flatMap { try? messages(on: $0.channel) } ?? []
                    return told.contains(.nameIsWatched)
                }
                steps.add {
                    // The instance would wait for its other name for ever.
                    if let socket { shutdown(socket.descriptor.rawValue, Int32(SHUT_RDWR)) }
                } until: {
                    supervisor.phase(instance.rawValue) == .ending
                }
                try steps.run()
                #expect(told.count { $0 == .nameIsWatched } == 1)
            }
        }
    }
}
