import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// The processes that wait for execs stay, ready for the next launch.
@Suite struct SpawnWaiterTests {
    private let spawner: SpawnerProcess
    private let supervisor: TestSupervisor

    init() throws {
        spawner = try SpawnerProcess()
        supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
    }

    /// Children of the spawner that have executed no program and lead no session.
    private func waiters() throws -> [pid_t] {
        try ProcessTable.entries().filter {
            $0.parent == spawner.pid && !$0.hasExecuted && !$0.isZombie && $0.session != $0.pid
        }.map(\.pid)
    }

    private func launch(_ instance: UInt64) throws {
        _ = try supervisor.spawn(.shell(instance, "exit 0"))
        #expect(try supervisor.exit(of: instance) == .exited(0))
    }

    private func end(_ process: pid_t) throws {
        let descriptor = try ProcessDescriptor(pid: process)
        try descriptor.send(signal: SIGKILL)
        #expect(try descriptor.descriptor.waitUntilReadable(milliseconds: deadline))
    }

    @Test func `the waiter of one launch serves the next`() throws {
        try launch(1)
        let first = try waiters()
        #expect(first.count == 1)
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(2)))
        try lease.awaitBreak()
        #expect(try waiters() == first)
        // The waiter is busy, so another launch gets another one.
        try launch(3)
        #expect(try waiters().count == 2)
        lease.giveUp()
        #expect(try supervisor.exit(of: 2) == .exited(0))
    }

    @Test func `only one waiter stays when several launches have ended`() throws {
        let leases = try (1...8).map { _ in try Lease() }
        for (index, lease) in leases.enumerated() {
            try supervisor.connection.send(.spawn(lease.specification(UInt64(index))))
        }
        for lease in leases { try lease.awaitBreak() }
        #expect(try waiters().count == 8)
        for lease in leases { lease.giveUp() }
        for index in leases.indices {
            #expect(try supervisor.exit(of: UInt64(index)) == .exited(0))
        }
        try Patience.wait("more than one waiter stays") { try waiters().count <= 1 }
        #expect(try waiters().count == 1)
    }

    @Test func `a waiter that somebody kills while it is idle costs no launch`() throws {
        try launch(1)
        try end(#require(try waiters().first))
        try launch(2)
    }

    @Test func `a process whose waiter is killed does not become an instance`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        try end(#require(try waiters().first))
        let error: SpawnError = try supervisor.first {
            if case .spawnFailed(1, let error) = $0 { error } else { nil }
        }
        #expect(error == SpawnError(stage: .execute, code: ECANCELED))
        try launch(2)
    }

    /// A waiter that does not report must not delay work that waits until no spawn is under way.
    @Test func `a waiter that is held after its announcement delays a new supervisor only briefly`()
        throws
    {
        try requireOrSkip(getuid() == 0, "only root may trace another program's child")
        try requireOrSkip(
            try supervisor.spawn(.shell(1, "exit 0")).cgroupName != nil,
            "without cgroups, no waiter announces anything")
        #expect(try supervisor.exit(of: 1) == .exited(0))
        let (input, stay) = try FileDescriptor.pipe()
        let lease = try Lease(of: "/bin/cat")
        var specification = lease.specification(2)
        specification.descriptors = [.init(input, at: 0)]
        try supervisor.connection.send(.spawn(specification))
        try lease.awaitBreak()
        let hold = try HeldWrite(of: #require(try waiters().first))
        lease.giveUp()
        try hold.awaitWord("held")
        let entry: TableEntry = try supervisor.first {
            if case .spawned(let entry) = $0, entry.instance == 2 { entry } else { nil }
        }
        supervisor.leave()
        let second = try TestSupervisor(spawner)
        let table = try second.hello().table
        #expect(table.contains { $0.instance == 2 && $0.pid == entry.pid && $0.status == nil })
        // Nor does it hold up the next start.
        _ = try second.spawn(.shell(3, "exit 0"))
        #expect(try second.exit(of: 3) == .exited(0))
        hold.release()
        withExtendedLifetime(stay) {}
    }

    @Test func `a process without its waiter keeps the memory that it shares`() throws {
        let lease = try Lease()
        let specification = lease.specification(1)
        let spawn = try SpawnRequest(
            path: specification.path, arguments: specification.arguments, environment: []
        ).begin()
        try lease.awaitBreak()
        try end(spawn.waiter)
        #expect(waitpid(spawn.waiter, nil, 0) == spawn.waiter)
        let over = spawn.end()
        // Whatever was freed is overwritten: execve reads its arguments only after the lease.
        let blocks = try stride(from: 14 << 10, to: 30 << 10, by: 16).map {
            memset(try #require(malloc($0)), 0xff, $0)
        }
        defer { for block in blocks { free(block) } }
        lease.giveUp()
        #expect(try #require(over.spawned).process.wait() == .exited(0))
    }

    @Test func `no waiter outlives an upgrade of the spawner`() throws {
        try launch(1)
        let waiter = try ProcessDescriptor(pid: #require(try waiters().first))
        try spawner.process.send(signal: SIGUSR1)
        #expect(try waiter.descriptor.waitUntilReadable(milliseconds: deadline))
        supervisor.leave()
        let second = try TestSupervisor(spawner)
        _ = try second.hello()
        _ = try second.spawn(.shell(2, "exit 0"))
        #expect(try second.exit(of: 2) == .exited(0))
    }
}

/// Holds a process before its next write(2).
private final class HeldWrite {
    private let words: FileDescriptor
    private var hold: FileDescriptor?
    private let process: ProcessDescriptor

    init(of pid: pid_t) throws {
        let (input, hold) = try FileDescriptor.pipe()
        let (words, output) = try FileDescriptor.pipe()
        var request = SpawnRequest(
            path: try compileProbe("hold-write.c"), arguments: ["hold-write", "\(pid)"],
            environment: [])
        request.descriptors = [
            .init(input.rawValue, at: 0), .init(output.rawValue, at: 1), .init(2, at: 2),
        ]
        process = try request.spawn().process
        (self.words, self.hold) = (words, hold)
        try awaitWord("traced")
    }

    func awaitWord(_ word: String) throws {
        var text = ""
        while !text.hasSuffix("\n") {
            try #require(try words.waitUntilReadable(milliseconds: deadline), "not \(word)")
            var byte: UInt8 = 0
            try #require(read(words.rawValue, &byte, 1) == 1, "not \(word)")
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        try #require(text == word + "\n")
    }

    /// Returns when the process goes on.
    func release() {
        hold = nil
        _ = try? process.wait()
    }

    deinit { release() }
}
