import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

@Suite struct UpgradeTests {
    @Test(arguments: [[], ["--no-cgroups"]] as [[String]])
    func `a spawner that executes itself again keeps children, exits, channels and state`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let first = try TestSupervisor(spawner)
        let memory = try SharedMemory(mapping: try first.hello().welcome.state)
        memory.baseAddress.storeBytes(of: 7, as: Int.self)
        let (input, feed) = try FileDescriptor.pipe()
        var lasting = SpawnSpecification.shell(1, "read status; sleep 1000 & exit $status")
        lasting.descriptors = [.init(input, at: 0)]
        lasting.wantsChannel = true
        let before = try first.spawn(lasting)
        var short = SpawnSpecification.shell(2, "exit 5")
        // No cgroup is kept in reserve, because the next execution would not have it.
        short.wantsChannel = true
        _ = try first.spawn(short)
        try first.emptied(2)
        // The spawner answers this when it holds nothing of the spawn any more.
        try first.connection.send(.unguard(instance: 1))
        _ = try first.first { if case .unguarded(1) = $0 { true } else { nil } }
        let descriptorCount = KernelObjects.descriptorCount(of: spawner.pid)

        try spawner.process.send(signal: SIGUSR1)
        #expect(throws: (any Error).self) { try first.exit(of: 99) }  // the connection's end

        let second = try TestSupervisor(spawner)
        let (welcome, table) = try second.hello()
        let same = try SharedMemory(mapping: welcome.state)
        #expect(same.baseAddress.load(as: Int.self) == 7)
        #expect(table.map(\.instance) == [1, 2])
        #expect(table[0].pid == before.pid && table[0].status == nil)
        #expect(
            try table[0].channel?.descriptor.identity().inode
                == before.channel?.descriptor.identity().inode)
        #expect(table[1].status == .exited(5))
        try feed.writeText("42\n")
        #expect(try second.exit(of: 1) == .exited(42))
        try second.connection.send(.kill(instance: 1))
        try second.emptied(1)
        try spawner.awaitDescriptors(descriptorCount)
    }

    @Test func `after many upgrades no descriptor is left over`() throws {
        let spawner = try SpawnerProcess()
        var count: Int?
        for _ in 0..<4 {
            let supervisor = try TestSupervisor(spawner)
            _ = try supervisor.hello()
            if let count {
                try spawner.awaitDescriptors(count)
            } else {
                count = KernelObjects.lowestDescriptorCount(of: spawner.pid)
            }
            try spawner.process.send(signal: SIGUSR1)
            #expect(throws: (any Error).self) { try supervisor.exit(of: 99) }
        }
    }
}
