import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// The real program and real children, with cgroups where the machine has them and without.
@Suite struct SpawnerTests {
    static let modes = [[], ["--no-cgroups"]] as [[String]]

    @Test(arguments: modes)
    func `an exit status is reported, then the empty cgroup`(_ options: [String]) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        let (welcome, table) = try supervisor.hello()
        #expect(table.isEmpty)
        #expect(welcome.degradation == nil ? options.isEmpty : welcome.cgroup == nil)
        _ = try supervisor.spawn(.shell(1, "exit 37"))
        #expect(try supervisor.exit(of: 1) == .exited(37))
        try supervisor.emptied(1)
        _ = try supervisor.spawn(.shell(2, "kill -KILL $$"))
        #expect(try supervisor.exit(of: 2) == .signaled(SIGKILL, coreDumped: false))
        try supervisor.emptied(2)
    }

    /// The next call of a client that watches the process must find the app ended.
    @Test(arguments: modes)
    func `the supervisor is told of an end before others can see it`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let first = try supervisor.spawn(.shell(1, "exit 0")).process
        #expect(try supervisor.exit(of: 1) == .exited(0))
        try supervisor.emptied(1)
        try supervisor.roundTrip()
        try requireOrSkip(first.exit == .known(.exited(0)), "Linux 6.15 is needed")
        for number: UInt64 in 2...20 {
            let (input, feed) = try FileDescriptor.pipe()
            var specification = SpawnSpecification.shell(number, "read line; exit 4")
            specification.descriptors = [.init(input, at: 0)]
            let process = try supervisor.spawn(specification).process
            try feed.writeText("\n")
            // Waits for POLLHUP alone, which comes when the process has been reaped.
            var seen = [PollEntry(process.descriptor.rawValue, 0)]
            #expect(try PollEntry.wait(&seen, milliseconds: deadline) == 1)
            var told = [PollEntry(supervisor.connection.fileDescriptor, POLLIN)]
            #expect(try PollEntry.wait(&told, milliseconds: 0) == 1)
            #expect(process.exit == .known(.exited(4)))
            #expect(try supervisor.exit(of: number) == .exited(4))
            try supervisor.emptied(number)
        }
    }

    @Test(arguments: modes)
    func `children of an ended main process live on until they are killed`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        var specification = SpawnSpecification.shell(1, "sleep 1000 & sleep 1000 & exit 3")
        specification.descriptors = [.init(writing, at: 1)]
        _ = try supervisor.spawn(specification)
        specification.descriptors = []
        Glibc.close(writing.release())
        #expect(try supervisor.exit(of: 1) == .exited(3))
        try supervisor.roundTrip()
        #expect(try !reading.waitUntilReadable(milliseconds: 0))
        try supervisor.connection.send(.kill(instance: 1))
        try supervisor.emptied(1)
        // After the instance's end, no child holds the pipe's other end.
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        #expect(try reading.readAll().isEmpty)
    }

    @Test(arguments: modes)
    func `a frozen instance does not run, thaws, and can be killed while frozen`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        var specification = SpawnSpecification.shell(1, "while read line; do echo $line; done")
        let (input, feed) = try FileDescriptor.pipe()
        specification.descriptors = [.init(input, at: 0), .init(writing, at: 1)]
        _ = try supervisor.spawn(specification)
        try supervisor.connection.send(.freeze(instance: 1))
        try supervisor.roundTrip()
        try feed.writeText("thawed\n")
        // Only waiting can show that the instance does not run.
        #expect(try !reading.waitUntilReadable(milliseconds: 100))
        try supervisor.connection.send(.thaw(instance: 1))
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        try supervisor.connection.send(.freeze(instance: 1))
        try supervisor.connection.send(.kill(instance: 1))
        #expect(try supervisor.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
        try supervisor.emptied(1)
    }

    @Test func `the app channel is the highest descriptor and is announced`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        var specification = SpawnSpecification.shell(
            1, "echo $GREENROOM_CHANNEL; readlink /proc/$$/fd/${GREENROOM_CHANNEL%:*}; ulimit -Sn")
        specification.wantsChannel = true
        specification.resourceLimits = [ResourceLimit(.openFiles, soft: 256, hard: 256)]
        specification.descriptors = [.init(writing, at: 1)]
        let record = try supervisor.spawn(specification)
        specification.descriptors = []
        Glibc.close(writing.release())
        let lines = try reading.readAll().split(separator: "\n")
        let parts = lines[0].split(separator: ":")
        #expect(parts[0] == "255")
        #expect(lines[1] == "socket:[\(parts[1])]")
        #expect(lines[2] == "256")
        let channel = try #require(record.channel)
        #expect(try channel.descriptor.waitUntilReadable(milliseconds: deadline))
        #expect(try channel.peerCredentials().pid == spawner.pid)
    }

    @Test func `a failed spawn names its stage and leaves nothing behind`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let before = KernelObjects.descriptorCount(of: spawner.pid)
        var specification = SpawnSpecification.shell(1, "")
        specification.path = "/nonexistent"
        specification.wantsChannel = true
        #expect(throws: SpawnError(stage: .execute, code: ENOENT)) {
            try supervisor.spawn(specification)
        }
        specification.path = "/bin/sh"
        specification.workingDirectory = "/nonexistent"
        #expect(throws: SpawnError(stage: .directory, code: ENOENT)) {
            try supervisor.spawn(specification)
        }
        // The spawner answers before it has closed the last of the spawn.
        try spawner.awaitDescriptors(before)
        _ = try supervisor.spawn(.shell(1, "read x"))
        #expect(throws: SpawnError(stage: .arguments, code: EEXIST)) {
            try supervisor.spawn(.shell(1, ""))
        }
    }

    @Test func `an environment that is longer than a packet arrives`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        var specification = SpawnSpecification.shell(1, "echo ${#LONG0} ${#LONG2}")
        for i in 0..<3 {
            specification.environment.append(
                "LONG\(i)=" + String(repeating: "x", count: 100_000 + i))
        }
        specification.descriptors = [.init(writing, at: 1)]
        _ = try supervisor.spawn(specification)
        specification.descriptors = []
        Glibc.close(writing.release())
        #expect(try reading.readAll() == "100000 100002\n")
    }

    @Test(arguments: modes)
    func `a spawner that is told to end ends its instances, by force if they resist`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello(grace: 200)
        let (reading, writing) = try FileDescriptor.pipe()
        var stubborn = SpawnSpecification.shell(
            1, "trap '' TERM; echo ready; while :; do sleep 1000; done")
        stubborn.descriptors = [.init(writing, at: 1)]
        _ = try supervisor.spawn(stubborn)
        stubborn.descriptors = []
        Glibc.close(writing.release())
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        _ = try supervisor.spawn(.shell(2, "sleep 1000"))
        try supervisor.connection.send(.freeze(instance: 2))
        try supervisor.roundTrip()
        try spawner.process.send(signal: SIGTERM)
        #expect(try supervisor.exit(of: 2) == .signaled(SIGTERM, coreDumped: false))
        #expect(try supervisor.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
        #expect(try spawner.wait() == .exited(0))
        #expect(try reading.readAll() == "ready\n")
    }
}

extension TestSupervisor {
    /// Returns when the spawner has handled everything sent before: it answers in order.
    func roundTrip() throws {
        _ = try? spawn(
            SpawnSpecification(
                instance: .max, app: "", path: "", arguments: [""], environment: []))
    }
}

/// A spawner at the limits of the kernel.
@Suite struct SpawnerLimitTests {
    @Test func `a spawner without free descriptors refuses an instance and keeps its supervisor`()
        throws
    {
        let spawner = try SpawnerProcess(openFileLimit: 120)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        var started: UInt64 = 0
        let error = #expect(throws: SpawnError.self) {
            while started < 100 {
                _ = try supervisor.spawn(.shell(started + 1, "sleep 1000"))
                started += 1
            }
        }
        #expect(error == SpawnError(stage: .descriptors, code: EMFILE))
        #expect(started > 5)
        // After one release the same connection can spawn again.
        try supervisor.connection.send(.kill(instance: 1))
        try supervisor.connection.send(.release(instance: 1))
        #expect(try supervisor.exit(of: 1) != .exited(0))
        try supervisor.emptied(1)
        _ = try supervisor.spawn(.shell(1000, "exit 0"))
        #expect(try supervisor.exit(of: 1000) == .exited(0))
    }
}
