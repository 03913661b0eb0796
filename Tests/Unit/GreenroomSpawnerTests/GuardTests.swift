import CTestSupport
import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// Instances that the spawner traces until they have paused.
@Suite struct GuardTests {
    private static let modes = [[], ["--no-cgroups"]] as [[String]]

    /// A guarded shell that starts nothing by itself, with a pipe as its standard input.
    private static func shell(
        _ script: String, executions: UInt32 = 1
    ) throws -> (order: SpawnSpecification, feed: FileDescriptor) {
        let (input, feed) = try FileDescriptor.pipe()
        var order = SpawnSpecification.shell(1, script)
        order.guardedExecutions = executions
        order.wantsChannel = true
        order.descriptors = [.init(input, at: 0)]
        return (order, feed)
    }

    private static func tracer(of pid: pid_t) throws -> String? {
        try SmallFile.text(of: "/proc/\(pid)/status").split(separator: "\n")
            .first { $0.hasPrefix("TracerPid:") }.map(String.init)
    }

    @Test(arguments: modes)
    func `an instance is no longer traced after it has paused`(_ options: [String]) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (order, feed) = try Self.shell("read status; (exit 3); exit $status")
        let entry = try supervisor.spawn(order)
        #expect(entry.isGuarded)
        #expect(try Self.tracer(of: entry.pid) == "TracerPid:\t\(spawner.pid)")
        try supervisor.connection.send(.unguard(instance: 1))
        try supervisor.first { if case .unguarded(1) = $0 { () } else { nil } }
        #expect(try Self.tracer(of: entry.pid) == "TracerPid:\t0")
        // A second request changes nothing.
        try supervisor.connection.send(.unguard(instance: 1))
        try supervisor.first { if case .unguarded(1) = $0 { () } else { nil } }
        try feed.writeText("42\n")
        #expect(try supervisor.exit(of: 1) == .exited(42))
        try supervisor.emptied(1)
    }

    @Test(arguments: modes)
    func `a program that a guarded instance starts does not run, and the instance is killed`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        // The scripts run a subshell, a separate program, and a program in place of the shell.
        for (script, program) in [
            ("(echo ran); :", nil), ("/bin/echo ran; :", nil), ("exec /bin/echo ran", "/echo"),
        ] {
            var (order, _) = try Self.shell(script)
            order.descriptors.append(.init(writing, at: 1))
            _ = try supervisor.spawn(order)
            let started = try supervisor.first {
                if case .misfired(1, let program) = $0 { .some(program) } else { nil }
                    as String??
            }
            #expect(started.map { $0.hasSuffix(program ?? "?") } == program.map { _ in true })
            #expect(try supervisor.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
            try supervisor.emptied(1)
            try supervisor.connection.send(.release(instance: 1))
        }
        Glibc.close(writing.release())
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        #expect(try reading.readAll().isEmpty)
    }

    /// The program got file capabilities after its inspection, so it ignores LD_PRELOAD.
    @Test func `a program that ignores LD_PRELOAD is killed before it runs`() throws {
        try requireOrSkip(getuid() == 0, "only root gives capabilities")
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        let path = folder.path + "/sh"
        try SmallFile.replace(path, with: readFile("/bin/sh"), mode: 0o755)
        awaitNoWriter(of: path)
        // cap_net_bind_service=ep, revision 2 (capabilities(7))
        let capability: [UInt8] = [1, 0, 0, 2, 0, 4] + [UInt8](repeating: 0, count: 14)
        try requireOrSkip(
            cts_setxattr(path, "security.capability", capability, capability.count) == 0,
            "the file system has no file capabilities")
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (reading, writing) = try FileDescriptor.pipe()
        var (order, feed) = try Self.shell("echo ran; read line")
        order.path = path
        order.identity = .init(user: 12_346, group: 12_346, supplementaryGroups: [])
        order.descriptors.append(.init(writing, at: 1))
        _ = try supervisor.spawn(order)
        try supervisor.first { if case .executedSecurely(1) = $0 { () } else { nil } }
        #expect(try supervisor.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
        try supervisor.emptied(1)
        order.descriptors.removeLast()
        Glibc.close(writing.release())
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        #expect(try reading.readAll().isEmpty)
        withExtendedLifetime(feed) {}
    }

    @Test func `env may execute the program in a guarded instance`() throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        for executions in [2, 1] as [UInt32] {
            var (order, feed) = try Self.shell("", executions: executions)
            order.path = "/usr/bin/env"
            order.arguments = ["env", "sh", "-c", "read status; exit $status"]
            _ = try supervisor.spawn(order)
            guard executions == 2 else {
                try supervisor.first { if case .misfired(1, _) = $0 { () } else { nil } }
                break
            }
            try feed.writeText("5\n")
            #expect(try supervisor.exit(of: 1) == .exited(5))
            try supervisor.emptied(1)
            try supervisor.connection.send(.release(instance: 1))
        }
    }

    @Test(arguments: modes)
    func `a guarded instance gets signals, and a stop signal takes effect after its pause`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (order, feed) = try Self.shell("trap 'exit 7' USR1; echo; while :; do read x; done")
        let (reading, writing) = try FileDescriptor.pipe()
        var talking = order
        talking.descriptors.append(.init(writing, at: 1))
        let entry = try supervisor.spawn(talking)
        #expect(try reading.waitUntilReadable(milliseconds: deadline))
        try entry.process.send(signal: SIGSTOP)
        try supervisor.connection.send(.unguard(instance: 1))
        try supervisor.first { if case .unguarded(1) = $0 { () } else { nil } }
        try Patience.wait("it does not stop") {
            let tracer = try Self.tracer(of: entry.pid)
            #expect(tracer == "TracerPid:\t0")
            return ProcessTable.entry(of: entry.pid)?.isStopped == true
        }
        try entry.process.send(signal: SIGUSR1)
        try entry.process.send(signal: SIGCONT)
        #expect(try supervisor.exit(of: 1) == .exited(7))
        try supervisor.emptied(1)
        try supervisor.connection.send(.release(instance: 1))

        let second = try supervisor.spawn(talking)
        #expect(second.isGuarded)
        try second.process.send(signal: SIGTERM)
        #expect(try supervisor.exit(of: 1) == .signaled(SIGTERM, coreDumped: false))
        withExtendedLifetime((feed, reading)) {}
    }

    @Test(arguments: [SIGKILL, SIGUSR1])
    func `a guarded instance does not outlive the spawner that traces it`(_ signal: CInt) throws {
        let spawner = try SpawnerProcess()
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (order, feed) = try Self.shell("read x; :")
        let entry = try supervisor.spawn(order)
        // The spawner has handled the first stop when this is answered.
        try supervisor.roundTrip()
        try spawner.process.send(signal: signal)
        #expect(try entry.process.descriptor.waitUntilReadable(milliseconds: deadline))
        if signal == SIGKILL {
            _ = try spawner.wait()
        } else {
            let next = try TestSupervisor(spawner)
            let table = try next.hello().table
            #expect(table.map(\.instance) == [1] && table[0].isGuarded == false)
        }
        withExtendedLifetime(feed) {}
    }

    @Test func `the next supervisor finds the instance still guarded`() throws {
        let spawner = try SpawnerProcess()
        let first = try TestSupervisor(spawner)
        _ = try first.hello()
        let (order, feed) = try Self.shell("read status; exit $status")
        _ = try first.spawn(order)
        first.leave()
        let second = try TestSupervisor(spawner)
        let entry = try #require(try second.hello().table.first)
        #expect(entry.isGuarded)
        try second.connection.send(.unguard(instance: 1))
        try second.first { if case .unguarded(1) = $0 { () } else { nil } }
        try feed.writeText("6\n")
        #expect(try second.exit(of: 1) == .exited(6))
    }

    /// A container may forbid ptrace(2) in this way.
    @Test func `without ptrace an instance runs unguarded, and the spawner says so`() throws {
        try requireOrSkip(
            geteuid() == 0, "only root installs a filter without giving up privileges")
        #if arch(x86_64)
            let ptrace: UInt8 = 101
        #else
            let ptrace: UInt8 = 117
        #endif
        var confinement = Confinement()
        confinement.filters = [
            [
                0x20, 0, 0, 0, 0, 0, 0, 0,  // the call's number
                0x15, 0, 0, 1, ptrace, 0, 0, 0,
                0x06, 0, 0, 0, 1, 0, 5, 0,  // SECCOMP_RET_ERRNO, EPERM
                0x06, 0, 0, 0, 0, 0, 0xff, 0x7f,  // SECCOMP_RET_ALLOW
            ]
        ]
        let spawner = try SpawnerProcess([], confinement: confinement)
        let supervisor = try TestSupervisor(spawner)
        _ = try supervisor.hello()
        let (order, feed) = try Self.shell("(exit 3); read status; exit $status")
        let entry = try supervisor.spawn(order)
        #expect(!entry.isGuarded)
        let code = try supervisor.first {
            if case .cannotGuard(let code) = $0 { code } else { nil }
        }
        #expect(code == EPERM)
        try supervisor.connection.send(.unguard(instance: 1))
        try supervisor.first { if case .unguarded(1) = $0 { () } else { nil } }
        try feed.writeText("4\n")
        #expect(try supervisor.exit(of: 1) == .exited(4))
        // The next supervisor is told, too.
        supervisor.leave()
        let next = try TestSupervisor(spawner)
        _ = try next.hello()
        _ = try next.first { if case .cannotGuard(let code) = $0 { code } else { nil } }
    }
}
