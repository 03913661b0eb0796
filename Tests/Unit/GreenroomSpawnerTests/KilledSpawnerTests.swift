import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// A process that a killed spawner had begun to start ends with the spawner, or at the
/// latest when the next one begins.
@Suite struct KilledSpawnerTests {
    private static let modes = [[], ["--no-cgroups"]] as [[String]]

    /// Children of this process that have not executed a program.
    private func unfinished(of parent: pid_t) throws -> [ProcessTable.Entry] {
        try ProcessTable.entries().filter { $0.parent == parent && !$0.hasExecuted }
    }

    private func ended(_ process: ProcessDescriptor) throws -> Bool {
        try process.descriptor.waitUntilReadable(milliseconds: deadline)
    }

    @Test(arguments: modes)
    func `a process that waits in its exec does not become an instance, and ends`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        let both = try unfinished(of: spawner.pid)
        let child = try ProcessDescriptor(pid: #require(both.first { $0.session == $0.pid }).pid)
        let waiter = try ProcessDescriptor(pid: #require(both.first { $0.session != $0.pid }).pid)
        try spawner.kill()
        #expect(try ended(waiter))
        // The end of the connection shows that no process holds it open.
        #expect(throws: (any Error).self) { try supervisor.exit(of: 99) }
        let next = try SpawnerProcess(options, after: spawner)
        #expect(try TestSupervisor(next).hello().table.isEmpty)
        // At this time the program cannot be executed yet.
        #expect(try ended(child))
        lease.giveUp()
        withExtendedLifetime(spawner) {}
    }

    @Test func `a process whose spawner is gone does not execute its program`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        let cgroup = try supervisor.hello().welcome.cgroup
        try requireOrSkip(cgroup != nil, "there is no cgroup v2 to write to")
        let base = Cgroup(directory: try #require(cgroup))
        let directory = try TemporaryDirectory()
        let ran = directory.path + "/ran"
        // The process is frozen from its creation.
        try base.freeze()
        try supervisor.connection.send(.spawn(.shell(1, "echo > \(ran)")))
        var child: ProcessDescriptor?
        while child == nil {
            child = try unfinished(of: spawner.pid).first {
                let text = try SmallFile.text(of: "/proc/\($0.pid)/cgroup")
                return text.contains("org.example.shell")
            }.map { try ProcessDescriptor(pid: $0.pid) }
        }
        try spawner.kill()
        try base.thaw()
        #expect(try ended(#require(child)))
        #expect(access(ran, F_OK) != 0)
        _ = try SpawnerProcess(after: spawner)
    }
}
