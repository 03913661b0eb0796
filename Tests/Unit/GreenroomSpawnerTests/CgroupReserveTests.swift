import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// The cgroup of an app's next cold launch is made before it is asked for.
@Suite struct CgroupReserveTests {
    private static let app = "org.example.shell"

    private func base(_ welcome: Welcome) throws -> Cgroup {
        try requireOrSkip(welcome.cgroup != nil, "there is no cgroup v2 to write to")
        return Cgroup(directory: try #require(welcome.cgroup))
    }

    /// Launches and ends one instance, and lets the spawner become idle afterwards.
    private func launch(_ number: UInt64, _ supervisor: TestSupervisor) throws -> TableEntry {
        let record = try supervisor.spawn(.shell(number, "exit 0"))
        #expect(try supervisor.exit(of: number) == .exited(0))
        try supervisor.emptied(number)
        // The spawner answers this in a later turn than the one that makes the next cgroup.
        try supervisor.connection.send(.unguard(instance: number))
        _ = try supervisor.first { if case .unguarded(number) = $0 { true } else { nil } }
        return record
    }

    @Test func `a launched app's next cgroup is kept ready, and is labelled with its instance`()
        throws
    {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        let first = try launch(1, supervisor)
        #expect(first.cgroupName == SpawnSpecification.cgroupName(app: Self.app, instance: 1))
        let second = try launch(2, supervisor)
        let third = try launch(3, supervisor)
        for record in [second, third] {
            let name = try #require(record.cgroupName)
            #expect(name.hasPrefix("app-\(Self.app)-r"))
            #expect(
                try base.child(name).label
                    == SpawnSpecification.cgroupName(app: Self.app, instance: record.instance))
            let found = InstanceCgroup.find(app: Self.app, instance: record.instance, in: base)
            #expect(found?.name == name)
        }
        #expect(second.cgroupName != third.cgroupName)
        #expect(InstanceCgroup.find(app: Self.app, instance: 4, in: base) == nil)
    }

    @Test func `an instance starts in the cgroup that was kept for it`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try base(supervisor.hello().welcome)
        _ = try launch(1, supervisor)
        let (output, input) = try FileDescriptor.pipe()
        var specification = SpawnSpecification.shell(2, "cat /proc/self/cgroup")
        specification.descriptors = [.init(input, at: 1)]
        let record = try supervisor.spawn(specification)
        specification.descriptors = []
        _ = try supervisor.exit(of: 2)
        let text = try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = try output.read(into: buffer) ?? 0
            return String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        #expect(text.contains("/" + (try #require(record.cgroupName))))
    }

    @Test func `a kept cgroup that another process removed is made again`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        _ = try launch(1, supervisor)
        let spare = try #require(base.children().first { $0.hasPrefix("app-\(Self.app)-r") })
        #expect(try base.removeChild(spare))
        let second = try launch(2, supervisor)
        #expect(second.cgroupName == SpawnSpecification.cgroupName(app: Self.app, instance: 2))
    }

    @Test func `a paused instance takes no kept cgroup, and at most eight are kept`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        for number in UInt64(1)...20 {
            var specification = SpawnSpecification.shell(number, "exit 0")
            specification.app = "org.example.app\(number)"
            specification.wantsChannel = number > 12
            _ = try supervisor.spawn(specification)
            _ = try supervisor.exit(of: number)
            try supervisor.emptied(number)
            try supervisor.connection.send(.release(instance: number))
        }
        // This ends after the releases; the spawner removes the other cgroups when it is idle.
        _ = try launch(21, supervisor)
        func spares() throws -> [String] { try base.children().filter { $0.contains("-r") } }
        let end = ContinuousClock.now.advanced(by: .milliseconds(Int(deadline)))
        while try spares().count > 8, ContinuousClock.now < end { poll(nil, 0, 1) }
        #expect(try spares().count == 8)
        #expect(try !spares().contains { $0.hasPrefix("app-org.example.app13-") })
    }

    @Test func `no kept cgroup is left when the spawner ends`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        let path = try base.directory.path()
        _ = try launch(1, supervisor)
        try spawner.process.send(signal: SIGTERM)
        #expect(try spawner.wait() == .exited(0))
        #expect(access(path, F_OK) != 0)
    }
}
