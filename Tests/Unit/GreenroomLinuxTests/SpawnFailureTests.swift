import CGreenroomLinux
import Glibc
import GreenroomLinux
import Testing

/// A failed spawn names its stage and leaves nothing behind.
@Suite(.serialized) struct SpawnFailureTests {
    private func failure(_ change: (inout SpawnRequest) -> Void) throws -> SpawnError {
        var request = SpawnRequest(
            path: "/bin/true", arguments: ["true"], environment: [])
        change(&request)
        do {
            let spawned = try request.spawn()
            _ = try spawned.process.wait()
        } catch let error as SpawnError {
            return error
        }
        throw SystemError(code: 0, call: "the spawn succeeded")
    }

    @Test func `a missing program fails to execute`() throws {
        let error = try failure { $0.path = "/nonexistent" }
        #expect(error == SpawnError(stage: .execute, code: ENOENT))
        #expect(error.description == "executing the program: no such file or directory (ENOENT)")
        #expect(try failure { $0.path = "/etc/passwd" }.code == EACCES)
        #expect(
            try failure { $0.arguments.append(String(repeating: "x", count: 3 << 20)) }
                == SpawnError(stage: .execute, code: E2BIG))
    }

    @Test func `a NUL inside a string is refused before anything runs`() throws {
        let expected = SpawnError(stage: .arguments, code: EINVAL)
        #expect(StringBlock(["a", "a\0b"]) == nil)
        var environment: StringBlock = ["A="]
        #expect(!environment.append("A=\0") && environment == ["A="])
        #expect(try failure { $0.path = "/bin/true\0x" } == expected)
        #expect(try failure { $0.arguments = [] } == expected)
    }

    @Test func `an invalid working directory is reported with the stage directory`() throws {
        #expect(
            try failure { $0.workingDirectory = "/nonexistent" }
                == SpawnError(stage: .directory, code: ENOENT))
        #expect(
            try failure { $0.workingDirectory = "/etc/passwd" }
                == SpawnError(stage: .directory, code: ENOTDIR))
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        #expect(
            try failure { $0.workingDirectoryDescriptor = file }
                == SpawnError(stage: .directory, code: ENOTDIR))
    }

    @Test func `an invalid descriptor is reported with the stage descriptors`() throws {
        #expect(
            try failure { $0.descriptors.append(.init(9_999, at: 5)) }
                == SpawnError(stage: .descriptors, code: EBADF))
        #expect(
            try failure { $0.descriptors.append(.init(0, at: 2)) }
                == SpawnError(stage: .descriptors, code: EINVAL))
        #expect(
            try failure {
                $0.descriptors.append(.init(0, at: 1_000_000))
            }.stage == .descriptors)
        #expect(
            try failure { request in
                request.descriptors += (3..<300).map { .init(0, at: CInt($0)) }
            } == SpawnError(stage: .descriptors, code: E2BIG))
    }

    @Test func `an impossible limit is reported with the stage limits`() throws {
        #expect(
            try failure { $0.resourceLimits = [ResourceLimit(.core, soft: 2, hard: 1)] }
                == SpawnError(stage: .limits, code: EINVAL))
    }

    @Test(.enabled(if: getuid() == 0, "needs root"))
    func `an invalid user, group or list of groups is reported with a stage of its own`() throws {
        // The kernel takes this number as "keep the current one", which would be root.
        #expect(
            try failure {
                $0.identity = .init(user: 1234, group: .max, supplementaryGroups: [])
            } == SpawnError(stage: .group, code: EINVAL))
        #expect(
            try failure {
                $0.identity = .init(user: .max, group: 1234, supplementaryGroups: [])
            } == SpawnError(stage: .user, code: EINVAL))
        #expect(
            try failure {
                $0.identity = .init(
                    user: 1234, group: 1234,
                    supplementaryGroups: Array(repeating: 7, count: 65_537))
            } == SpawnError(stage: .groups, code: EINVAL))
        // The directory is entered as the app's user, not as root.
        #expect(
            try failure {
                $0.identity = .init(user: 1234, group: 1234, supplementaryGroups: [])
                $0.workingDirectory = "/root"
            } == SpawnError(stage: .directory, code: EACCES))
    }

    /// The app is given one capability. The capabilities that the child has yet to drop must not
    /// let it in.
    @Test(.enabled(if: getuid() == 0, "needs root"))
    func `a directory is entered with no capability but the app's own`() throws {
        let netBindService: UInt64 = 1 << 10
        #expect(
            try failure {
                $0.identity = .init(user: 1234, group: 1234, supplementaryGroups: [])
                $0.confinement = Confinement()
                $0.confinement?.ambientCapabilities = netBindService
                $0.workingDirectory = "/root"
            } == SpawnError(stage: .directory, code: EACCES))
        let run = try ShellRun.of("grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/$$/status | cut -f 2") {
            $0.identity = .init(user: 1234, group: 1234, supplementaryGroups: [])
            $0.confinement = Confinement()
            $0.confinement?.ambientCapabilities = netBindService
        }
        #expect(run.lines == Array(repeating: "0000000000000400", count: 4))
    }

    @Test func `an OOM score out of range is reported with the stage oomScore`() throws {
        #expect(
            try failure { $0.oomScoreAdjustment = 5_000 }
                == SpawnError(stage: .oomScore, code: EINVAL))
    }

    @Test func `a directory that is not a cgroup is reported with the stage cgroup, clone3 or not`()
        throws
    {
        let directory = try FileDescriptor.open("/tmp", O_RDONLY)
        #expect(try failure { $0.cgroup = directory }.stage == .cgroup)
        #expect(
            try failure {
                $0.cgroup = directory
                $0.avoidsClone3 = true
            }.stage == .cgroup)
    }

    @Test func `processes beyond the limit fail to be created`() async {
        // A separate process, because the limit is the whole process's, and root is exempt from it.
        // (At exit(3), a leak checker would need one more process, which is refused, so this uses
        // _exit.)
        await #expect(processExitsWith: .exitCode(0)) {
            guard getuid() != 0 || setuid(54_321) == 0 else { exit(3) }
            var limit = rlimit(rlim_cur: 1, rlim_max: 1)
            setrlimit(__rlimit_resource_t(6), &limit)
            let request = SpawnRequest(path: "/bin/true", arguments: ["true"], environment: [])
            var before = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &before)
            do throws(SpawnError) {
                _ = try request.spawn()
                exit(1)
            } catch {
                var after = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &after)
                let same = (1...64).allSatisfy {
                    sigismember(&before, $0) == sigismember(&after, $0)
                }
                _exit(error == SpawnError(stage: .clone, code: EAGAIN) && same ? 0 : 2)
            }
        }
    }

    @Test func `no descriptor is left over, and the counter notices one that is`() async {
        // A separate process, because other tests open and close descriptors in the meantime.
        await #expect(processExitsWith: .exitCode(0)) {
            func tryEverything() throws {
                var request = SpawnRequest(
                    path: "/bin/true", arguments: ["true"], environment: [])
                _ = try request.spawn().process.wait()
                request.avoidsClone3 = true
                _ = try request.spawn().process.wait()
                request.path = "/nonexistent"
                _ = try? request.spawn()
                request.resourceLimits = [ResourceLimit(.core, soft: 2, hard: 1)]
                _ = try? request.spawn()
                request.descriptors.append(.init(9_999, at: 4))
                _ = try? request.spawn()
            }
            try tryEverything()
            let before = try openDescriptorCount()
            let leak = try FileDescriptor.open("/dev/null", O_RDONLY).release()
            guard try openDescriptorCount() == before + 1 else { exit(2) }
            close(leak)
            for _ in 0..<10 { try tryEverything() }
            // No zombie is left either.
            let child = waitpid(-1, nil, WNOHANG)
            exit(try openDescriptorCount() == before && child == -1 && errno == ECHILD ? 0 : 1)
        }
    }
}
