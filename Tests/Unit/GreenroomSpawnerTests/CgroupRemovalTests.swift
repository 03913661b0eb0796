import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// A cgroup is removed a moment after its instance, when the spawner has nothing else to do.
@Suite struct CgroupRemovalTests {
    /// The folder of the instances' cgroups, or a skipped test.
    private func base(_ welcome: Welcome) throws -> String {
        let cgroup = welcome.cgroup
        try requireOrSkip(cgroup != nil, "there is no cgroup v2 to write to")
        return try #require(cgroup).path()
    }

    private func awaitAbsence(of path: String) {
        let end = ContinuousClock.now.advanced(by: .milliseconds(Int(deadline)))
        while access(path, F_OK) == 0, ContinuousClock.now < end { poll(nil, 0, 1) }
        #expect(access(path, F_OK) != 0, "\(path) is still there")
    }

    @Test func `cgroups that an app made inside its own cgroup are removed with it`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        let own = "\(base)/\(SpawnSpecification.cgroupName(app: "org.example.shell", instance: 1))"
        _ = try supervisor.spawn(.shell(1, "mkdir -p \(own)/inner/innermost || exit 1"))
        #expect(try supervisor.exit(of: 1) == .exited(0))
        try supervisor.emptied(1)
        try supervisor.connection.send(.release(instance: 1))
        awaitAbsence(of: own)
    }

    /// The cgroup holds a foreign process for longer than the spawner retries.
    @Test func `a cgroup that could not be removed is removed after an upgrade`() throws {
        let spawner = try SpawnerProcess()
        let first = try TestSupervisor(spawner)
        let base = try base(first.hello().welcome)
        let own = "\(base)/\(SpawnSpecification.cgroupName(app: "org.example.shell", instance: 1))"
        _ = try first.spawn(.shell(1, "exit 0"))
        _ = try first.exit(of: 1)
        try first.emptied(1)
        let guest = try SpawnRequest(
            path: "/bin/sleep", arguments: ["sleep", "1000"], environment: []
        ).spawn()
        try Cgroup(path: own).add(guest.pid)
        try first.connection.send(.release(instance: 1))
        // The spawner reads this after the release.
        _ = try first.spawn(.shell(2, "exit 0"))
        try spawner.process.send(signal: SIGUSR1)
        #expect(throws: (any Error).self) { try first.exit(of: 99) }  // the connection's end
        let second = try TestSupervisor(spawner)
        #expect(try second.hello().table.map(\.instance) == [2])
        #expect(access(own, F_OK) == 0)
        try guest.process.send(signal: SIGKILL)
        _ = try guest.process.wait()
        try second.connection.send(.reconciled)
        awaitAbsence(of: own)
    }

    /// By then, two processes keep the instance's terminal, and end with the instance.
    @Test func `a spawn that fails after taking its terminal leaves no cgroup`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        for number in UInt64(1)...20 {
            let terminal = try PseudoTerminal()
            var specification = SpawnSpecification.shell(number, "")
            specification.takesControllingTerminal = true
            specification.descriptors = [.init(try #require(terminal.terminal), at: 0)]
            specification.path = "/nonexistent"
            #expect(throws: SpawnError(stage: .execute, code: ENOENT)) {
                try supervisor.spawn(specification)
            }
        }
        for number in UInt64(1)...20 {
            let name = SpawnSpecification.cgroupName(app: "org.example.shell", instance: number)
            awaitAbsence(of: "\(base)/\(name)")
        }
    }

    @Test func `at the limit on cgroups, those of ended instances are removed at once`()
        throws
    {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        try Cgroup(path: base).write("cgroup.max.descendants", "1")
        for number in UInt64(1)...10 {
            _ = try supervisor.spawn(.shell(number, "exit 0"))
            #expect(try supervisor.exit(of: number) == .exited(0))
            try supervisor.emptied(number)
            try supervisor.connection.send(.release(instance: number))
        }
    }

    @Test func `at the limit on cgroups, those in reserve for other apps are removed at once`()
        throws
    {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let base = try base(supervisor.hello().welcome)
        _ = try supervisor.spawn(.shell(1, "exit 0"))
        #expect(try supervisor.exit(of: 1) == .exited(0))
        try supervisor.emptied(1)
        try supervisor.connection.send(.release(instance: 1))
        // Only the cgroup in reserve is left.
        let end = ContinuousClock.now.advanced(by: .milliseconds(Int(deadline)))
        var names: [String] = []
        while names.count != 1 || !names[0].contains("-r"), ContinuousClock.now < end {
            names = try Cgroup(path: base).children()
        }
        try Cgroup(path: base).write("cgroup.max.descendants", "1")
        var other = SpawnSpecification.shell(2, "exit 0")
        other.app = "org.example.other"
        _ = try supervisor.spawn(other)
        #expect(try supervisor.exit(of: 2) == .exited(0))
    }
}
