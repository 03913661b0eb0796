import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// Between the clone and the exec, a process belongs to its user, who can hold it up. Nobody else's
/// launch may wait for that. Each test holds up one process, and then asks for another one.
@Suite struct HeldUpSpawnTests {
    private let spawner: SpawnerProcess
    private let supervisor: TestSupervisor

    init() throws {
        spawner = try SpawnerProcess()
        supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
    }

    private func failure(of instance: UInt64) throws -> SpawnError {
        try supervisor.first {
            if case .spawnFailed(instance, let error) = $0 { error } else { nil }
        }
    }

    /// Launches another instance and awaits its end.
    private func expectUndisturbed(_ instance: UInt64) throws {
        _ = try supervisor.spawn(.shell(instance, "exit 0"))
        #expect(try supervisor.exit(of: instance) == .exited(0))
    }

    /// The child of the spawner that leads a session and has not executed its program.
    private func heldUp() throws -> pid_t {
        var found: pid_t?
        try Patience.wait("no process is held up") {
            found = try ProcessTable.entries().first {
                $0.parent == spawner.pid && $0.session == $0.pid && !$0.hasExecuted
            }?.pid
            return found != nil
        }
        return try #require(found)
    }

    @Test func `a write lease on a program delays only the spawns of that program`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        try expectUndisturbed(2)
        lease.giveUp()
        let entry: TableEntry = try supervisor.first {
            if case .spawned(let entry) = $0, entry.instance == 1 { entry } else { nil }
        }
        #expect(entry.pid > 0)
        #expect(try supervisor.exit(of: 1) == .exited(0))
    }

    /// With one CPU, the spawner would run only after the program has blocked or ended.
    @Test func `a supervisor hears of a start even if the spawner does not run`() throws {
        try requireOrSkip(
            try supervisor.spawn(.shell(2, "exit 0")).cgroupName != nil,
            "without cgroups, the spawner first writes into its ledger")
        let (input, stay) = try FileDescriptor.pipe()
        // The program stays, because the end of a program is the spawner's business.
        let lease = try Lease(of: "/bin/cat")
        var specification = lease.specification(1)
        specification.descriptors = [.init(input, at: 0)]
        try supervisor.connection.send(.spawn(specification))
        try lease.awaitBreak()
        try spawner.freeze()
        lease.giveUp()
        let entry: TableEntry = try supervisor.first {
            if case .spawned(let entry) = $0, entry.instance == 1 { entry } else { nil }
        }
        #expect(ProcessTable.entry(of: entry.pid)?.parent == spawner.pid)
        #expect(entry.process.exit == .pending)
        #expect(entry.cgroupName != nil && entry.status == nil && !entry.isGuarded)
        try spawner.thaw()
        try entry.process.send(signal: SIGTERM)
        #expect(try supervisor.exit(of: 1) == .signaled(SIGTERM, coreDumped: false))
        withExtendedLifetime(stay) {}
    }

    /// Freezes the spawner before instance 1 executes its program, so only the waiter tells of that.
    ///
    /// - Returns: what keeps the program running as long as it is open.
    private func startWhileFrozen(wantsChannel: Bool = false) throws -> FileDescriptor {
        try requireOrSkip(
            try supervisor.spawn(.shell(2, "exit 0")).cgroupName != nil,
            "without cgroups, the spawner first writes into its ledger")
        #expect(try supervisor.exit(of: 2) == .exited(0))
        let (input, stay) = try FileDescriptor.pipe()
        let lease = try Lease(of: "/bin/cat")
        var specification = lease.specification(1)
        specification.descriptors = [.init(input, at: 0)]
        specification.wantsChannel = wantsChannel
        try supervisor.connection.send(.spawn(specification))
        try lease.awaitBreak()
        try spawner.freeze()
        lease.giveUp()
        return stay
    }

    @Test func `a start that only the waiter has told is in the next spawner's table`() throws {
        let stay = try startWhileFrozen(wantsChannel: true)
        let entry: TableEntry = try supervisor.first {
            if case .spawned(let entry) = $0, entry.instance == 1 { entry } else { nil }
        }
        #expect(entry.channel != nil)
        try spawner.kill()
        // The spawner said nothing else about the instance, and the connection has ended.
        #expect(throws: (any Error).self) { try supervisor.exit(of: 1) }
        let next = try SpawnerProcess(after: spawner)
        let successor = try TestSupervisor(next)
        let table = try successor.hello().table
        #expect(table.map(\.instance) == [1] && table.first?.pid == entry.pid)
        #expect(table.first?.cgroupName == entry.cgroupName && table.first?.status == nil)
        try successor.connection.send(.kill(instance: 1))
        try successor.emptied(1)
        withExtendedLifetime((stay, spawner)) {}
    }

    @Test func `a supervisor that comes after an announcement finds the instance`() throws {
        let stay = try startWhileFrozen()
        // The supervisor ends without having read the message.
        var entry = [PollEntry(supervisor.connection.fileDescriptor, POLLIN)]
        #expect(try PollEntry.wait(&entry, milliseconds: deadline) > 0)
        supervisor.leave()
        try spawner.thaw()
        let second = try TestSupervisor(spawner)
        let table = try second.hello().table
        #expect(table.first { $0.instance == 1 }.map { $0.status == nil } == true)
        try second.connection.send(.kill(instance: 1))
        #expect(try second.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
        withExtendedLifetime(stay) {}
    }

    @Test func `a process that is stopped before its exec is killed at the time limit`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        let process = try heldUp()
        kill(process, SIGSTOP)
        try Patience.wait("it does not stop") {
            ProcessTable.entry(of: process)?.isStopped != false
        }
        lease.giveUp()
        try expectUndisturbed(2)
        #expect(try failure(of: 1) == SpawnError(stage: .execute, code: ETIMEDOUT))
        // Nothing has to be released, and the instance's number is free.
        try expectUndisturbed(1)
    }

    @Test func `a process that its user kills before its exec is a failed spawn`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        kill(try heldUp(), SIGKILL)
        // The waiter may be seen to end before the process itself has ended. Then the spawn counts
        // as done, and the process as ended by the signal.
        let error: SpawnError? = try supervisor.first {
            switch $0 {
            case .spawnFailed(1, let error): .some(error)
            case .exited(1, .signaled(SIGKILL, coreDumped: false)): .some(nil)
            default: nil
            }
        }
        #expect(error == nil || error == SpawnError(stage: .execute, code: ECANCELED))
        try expectUndisturbed(2)
    }

    @Test func `a process that is no longer wanted is ended at once`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        try supervisor.connection.send(.kill(instance: 1))
        #expect(try failure(of: 1) == SpawnError(stage: .execute, code: ECANCELED))
    }

    @Test func `an upgrade and a new supervisor wait only briefly for a delayed spawn`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        try spawner.process.send(signal: SIGUSR1)
        #expect(throws: (any Error).self) { try supervisor.exit(of: 99) }  // the connection's end
        let second = try TestSupervisor(spawner)
        #expect(try second.hello().table.isEmpty)
        _ = try second.spawn(.shell(2, "exit 0"))
        #expect(try second.exit(of: 2) == .exited(0))
        supervisor.leave()
    }

    @Test func `a spawner that is told to end does not wait for a delayed spawn`() throws {
        let lease = try Lease()
        try supervisor.connection.send(.spawn(lease.specification(1)))
        try lease.awaitBreak()
        try spawner.process.send(signal: SIGTERM)
        #expect(try spawner.wait() == .exited(0))
    }

    /// Not even SIGKILL ends a process that waits for an answer to a request that the server has read.
    @Test func `a working directory on a file system that never answers delays no other spawn`()
        throws
    {
        try requireOrSkip(getuid() == 0, "mounting needs root")
        try requireOrSkip(access("/dev/fuse", R_OK | W_OK) == 0, "there is no /dev/fuse")
        let silence = try SilentFileSystem()
        var specification = SpawnSpecification.shell(1, "exit 0")
        specification.workingDirectory = silence.path
        try supervisor.connection.send(.spawn(specification))
        try silence.takeRequest()
        try expectUndisturbed(2)
        #expect(try failure(of: 1) == SpawnError(stage: .directory, code: ETIMEDOUT))
        try expectUndisturbed(3)
        silence.end()
        // The number is free once the process has ended.
        while true {
            do {
                _ = try supervisor.spawn(.shell(1, "exit 0"))
                break
            } catch let error as SpawnError {
                try #require(error == SpawnError(stage: .arguments, code: EEXIST))
            }
        }
        #expect(try supervisor.exit(of: 1) == .exited(0))
    }
}

/// A program that cannot be executed until a lease on it is given up (fcntl(2), F_SETLEASE).
final class Lease {
    private let directory: TemporaryDirectory
    private let path: String
    private let file: FileDescriptor

    init(of program: String = "/bin/true") throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/program"
        try Self.copy(program, to: path)
        file = try FileDescriptor.open(path, O_RDONLY)
        let setSignal: CInt = 10
        let setLease: CInt = 1024
        // SIGURG is ignored by default.
        try #require(fcntl(file.rawValue, setSignal, SIGURG) == 0)
        // A child of a concurrent test may still have the copy open.
        try Patience.wait("the copy stays open") {
            if fcntl(file.rawValue, setLease, F_WRLCK) == 0 { return true }
            try #require(errno == EAGAIN, "F_SETLEASE: \(errno)")
            return false
        }
    }

    private static func copy(_ source: String, to path: String) throws {
        let bytes = try readFile(source)
        let file = try FileDescriptor.open(path, O_WRONLY | O_CREAT, mode: 0o755)
        try #require(write(file.rawValue, bytes, bytes.count) == bytes.count)
    }

    /// Returns when a process waits for the lease in an open or an execve.
    func awaitBreak() throws {
        try Patience.wait("nobody waits for the lease") {
            fcntl(file.rawValue, 1025, 0) != F_WRLCK
        }
    }

    func giveUp() { _ = fcntl(file.rawValue, 1024, F_UNLCK) }

    func specification(_ instance: UInt64) -> SpawnSpecification {
        SpawnSpecification(
            instance: instance, app: "org.example.leased", path: path, arguments: ["program"],
            environment: [])
    }
}

/// A mount whose server takes requests, and answers only the first one (fuse(4)).
private final class SilentFileSystem {
    let path: String
    private let directory: TemporaryDirectory
    private var device: FileDescriptor?

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/mount"
        try #require(mkdir(path, 0o755) == 0)
        let device = try FileDescriptor.open("/dev/fuse", O_RDWR)
        self.device = device
        let options = "fd=\(device.rawValue),rootmode=40000,user_id=0,group_id=0,allow_other"
        try #require(mount("silence", path, "fuse", 0, options) == 0, "mount: \(errno)")
        try takeRequest()
        // struct fuse_out_header, then struct fuse_init_out of version 7.31.
        var answer = [UInt8](repeating: 0, count: 80)
        let words: [(Int, UInt32)] = [(0, 80), (16, 7), (20, 31), (24, 4096), (36, 4096), (40, 1)]
        for (offset, value) in words {
            withUnsafeBytes(of: value) { answer.replaceSubrange(offset..<offset + 4, with: $0) }
        }
        answer.replaceSubrange(8..<16, with: request[8..<16])
        try #require(write(device.rawValue, answer, answer.count) == answer.count)
    }

    private var request: [UInt8] = []

    /// Returns when the kernel has sent a request.
    func takeRequest() throws {
        guard let device else { return }
        try #require(try device.waitUntilReadable(milliseconds: deadline))
        request = [UInt8](repeating: 0, count: 1 << 17)
        try #require(read(device.rawValue, &request, request.count) >= 40)
    }

    /// Waiting processes get ENOTCONN.
    func end() { device = nil }

    deinit {
        end()
        umount2(path, 2)  // MNT_DETACH
    }
}
