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
        while access(path, F_OK) == 0, ContinuousClock.now < end { sched_yield() }
        #expect(access(path, F_OK) != 0, "\(path) is still there")
    }

    @Test func `cgroups that an app made in its own go with it`() throws {
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

    /// Two processes keep its terminal by then, and die with it.
    @Test func `a spawn that fails with its terminal taken leaves no cgroup`() throws {
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

    @Test func `where there may be no more cgroups, those of ended instances make room at once`()
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
}
