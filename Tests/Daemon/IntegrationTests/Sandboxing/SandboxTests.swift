import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

@Suite struct SandboxTests {
    private static let free = Prison.free
    private static let app = Prison.app

    /// Tries the same acts in a paused instance and in a new one.
    private func attempt(_ acts: [String], in prison: Prison) throws -> [[String]] {
        try prison.daemon.awaitPaused(Self.app)
        let paused = try prison.attempt(acts, in: Self.app, expecting: .prewarmed)
        let cold = try prison.attempt(acts, in: Self.app, expecting: .cold) {
            $0.environment = [.init(name: "LANG", value: "other")]
        }
        return [paused, cold]
    }

    private static let users = getuid() == 0 ? [0, 65_534] : [Int32(getuid())]

    @Test(arguments: users)
    func `a private /tmp is empty and writable, and is removed with the app`(user: Int32) throws {
        let name = "/tmp/greenroom-sandbox-\(getpid())-\(user)"
        let prison = try Prison(["PrivateTmp=yes"], user: user)
        close(open(name, O_WRONLY | O_CREAT, 0o666))
        defer { unlink(name) }
        let acts = ["exists=\(name)", "write=\(name)-other", "write=/var/tmp/greenroom-other"]
        for result in try attempt(acts, in: prison) {
            #expect(result == ["ENOENT", "done", "done"])
        }
        #expect(access(name + "-other", F_OK) != 0)
    }

    @Test(arguments: users)
    func `a writable path stays writable below a read-only one`(user: Int32) throws {
        let prison = try Prison(
            [
                "ProtectSystem=strict", "ReadOnlyPaths=/dev/shm",
                "ReadWritePaths=SCRATCH -/nowhere",
                "ReadOnlyPaths=SCRATCH/shim.so",
            ], user: user)
        let acts = [
            "write=SCRATCH/file", "write=SCRATCH/shim.so", "write=/dev/shm/greenroom-other",
            "write=/dev/null",
        ]
        for result in try attempt(acts, in: prison) {
            #expect(result == ["done", "EROFS", "EROFS", "done"])
        }
    }

    @Test(arguments: users)
    func `folders are bound into an empty file system`(user: Int32) throws {
        let prison = try Prison(
            [
                "TemporaryFileSystem=/srv", "BindPaths=SCRATCH:/srv/deep/down",
                "BindReadOnlyPaths=SCRATCH/shim.so:/srv/names -/nowhere:/srv/nothing",
            ], user: user)
        let acts = [
            "write=/srv/deep/down/file", "read=/srv/names", "write=/srv/names",
            "exists=/srv/nothing",
        ]
        for result in try attempt(acts, in: prison) {
            #expect(result == ["done", "done", "EROFS", "ENOENT"])
        }
    }

    @Test(arguments: users)
    func `private devices are only those that every program needs`(user: Int32) throws {
        let prison = try Prison(["PrivateDevices=yes"], user: user)
        let acts = [
            "write=/dev/null", "read=/dev/urandom", "read=/dev/zero", "exists=/dev/fd/0",
            "exists=/dev/pts", "exists=/dev/mem", "capability=27", "write=/dev/greenroom-other",
        ]
        for result in try attempt(acts, in: prison) {
            #expect(
                result == ["done", "done", "done", "done", "done", "ENOENT", "EPERM", "EROFS"])
        }
    }

    @Test(arguments: users)
    func `a caller's directory gives no way out of the sandbox`(user: Int32) throws {
        let prison = try Prison(
            ["ReadOnlyPaths=SCRATCH", "InaccessiblePaths=/etc/apt"], user: user)
        try prison.daemon.awaitPaused(Self.app)
        let directory = try FileDescriptor.open(prison.scratch.path, O_RDONLY | O_DIRECTORY)
        for kind in [Control.LaunchKind.prewarmed, .cold] {
            let result = try prison.attempt(
                ["write=file", "exists=escape"], in: Self.app, expecting: kind
            ) {
                $0.workingDirectory = prison.scratch.path
                if kind == .cold { $0.environment = [.init(name: "LANG", value: "x")] }
            }
            #expect(result == ["EROFS", "done"])
        }
        withExtendedLifetime(directory) {}
    }

    @Test func `a restriction that no user can lift also applies to children`() throws {
        // In a new user namespace, a process is privileged, but mounts that cover a path stay
        // locked.
        let prison = try Prison(["InaccessiblePaths=/etc/passwd"], user: Self.users.last!)
        let acts = ["unshare=268566528", "umount=/etc/passwd", "read=/etc/passwd"]
        for result in try attempt(acts, in: prison) {
            #expect(result == ["done", "EINVAL", "EACCES"])
        }
    }

    @Test(arguments: users)
    func `keys of every kind apply at the same time`(user: Int32) throws {
        let prison = try Prison(
            [
                "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateNetwork=yes",
                "PrivateDevices=yes", "BindReadOnlyPaths=SCRATCH", "ProtectKernelTunables=yes",
                "ProtectKernelModules=yes", "ProtectKernelLogs=yes", "ProtectControlGroups=yes",
                "ProtectClock=yes", "ProtectHostname=yes", "CapabilityBoundingSet=",
                "SystemCallFilter=@system-service", "SystemCallErrorNumber=EPERM",
                "SystemCallArchitectures=native", "RestrictAddressFamilies=AF_UNIX",
                "RestrictNamespaces=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
                "LockPersonality=yes", "MemoryDenyWriteExecute=yes", "NoNewPrivileges=yes",
            ], user: user)
        let acts = [
            "write=/tmp/file", "write=SCRATCH/file", "socket=2", "unshare=268435456", "wx",
            "chroot", "capability=21", "privileges", "hostname", "socketpair",
        ]
        for result in try attempt(acts, in: prison) {
            #expect(
                result == [
                    "done", "EROFS", "EAFNOSUPPORT", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM",
                    "EPERM", "done",
                ])
        }
    }

    @Test func `the exit status shows that a forbidden call killed the app`() throws {
        let prison = try Prison(["SystemCallFilter=~chroot"])
        try prison.daemon.awaitPaused(Self.app)
        let run = try prison.client.run(Self.app, ["chroot"])
        #expect(run.launched.kind == .prewarmed && run.exit.signal == SIGSYS)
    }

    @Test func `an app whose filter forbids waiting is ineligible, and the reason names the call`()
        throws
    {
        let prison = try Prison(
            ["SystemCallFilter=~recvmsg", "SystemCallErrorNumber=EPERM"])
        let explanation = try prison.client.explain(Self.app)
        #expect(!explanation.isEligible)
        #expect(explanation.reasons.first?.code == "filtered")
        #expect(explanation.reasons.first?.text.contains("recvmsg") == true)
        #expect(
            explanation.confinement == [
                "SystemCallFilter=~recvmsg", "SystemCallErrorNumber=EPERM",
            ])
        #expect(try prison.attempt(["socketpair"], in: Self.app, expecting: .cold) == ["done"])
    }

    @Test func `a sandbox that hides the shim makes the app ineligible`() throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: "/bin/true", prewarm: 1,
                prewarmLines: ["[Sandbox]", "InaccessiblePaths=\(packageRoot)"]))
        let client = try daemon.client()
        #expect(try client.explain(Self.app).reasons.first?.code == "hidden_shim")
        #expect(try client.run(Self.app).launched.kind == .cold)
    }

    @Test(arguments: [
        ("InaccessiblePaths=/usr/bin", "is needed to run the app"),
        ("ReadWritePaths=/root/x\nProtectHome=yes", ", which is hidden"),
        ("SystemCallFilter=frobnicate", "there is no system call 'frobnicate'"),
        (
            "RestrictAddressFamilies=AF_UNIX\nSystemCallArchitectures=native x86",
            "cannot be enforced for programs of x86"
        ),
        ("AmbientCapabilities=CAP_KILL\nCapabilityBoundingSet=", "AmbientCapabilities="),
        ("ReadOnlyPaths=/", "cannot be mounted over"),
        ("PrivateUsers=yes", "not supported"),
    ])
    func `a restriction that cannot be enforced is refused when the manifest is read`(
        lines: String, message: String
    ) throws {
        let daemon = try TestDaemon()
        try daemon.install(
            TestApp(Self.app, exec: "/bin/true", prewarmLines: ["[Sandbox]", lines]))
        let report = try daemon.client().reload()
        #expect(report.failed.count == 1)
        #expect(report.failed.first?.message.contains(message) == true, "\(report.failed)")
    }

    @Test func `a missing path fails the launch and is named`() throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: "/bin/true",
                prewarmLines: ["[Sandbox]", "ReadOnlyPaths=/nowhere/at/all"]))
        let error = #expect(throws: ControlError.self) {
            try daemon.client().launch(Self.app)
        }
        #expect(
            error
                == .spawnFailed(
                    stage: "mounting /nowhere/at/all", errno: ENOENT,
                    reason: "no such file or directory"))
    }

    /// The expected values are read from another instance's cgroup, and no others are accepted.
    @Test(arguments: Runner.allCases)
    func `a limit is enforced, or the app does not run and the reason names what is missing`(
        runner: Runner
    ) throws {
        let free = "org.example.free"
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: "/bin/cat", prewarmLines: ["[Resources]", "TasksMax=7"]),
            TestApp(free, exec: "/bin/cat"), options: runner.options)
        let client = try daemon.client()
        let pipe = try FileDescriptor.pipe()
        let unlimited = try client.launch(free, input: pipe.reading.rawValue)
        let missing = try Self.missing("pids", for: unlimited.processId!)
        do {
            let launched = try client.launch(Self.app, input: pipe.reading.rawValue)
            let cgroup = try #require(Cgroups.folder(of: launched.processId!))
            let limit = String(decoding: try readFile(cgroup + "/pids.max"), as: UTF8.self)
            #expect(limit == "7\n")
            #expect(missing == nil, "run without its limit")
        } catch let error as ControlError {
            guard case .spawnFailed(let stage, let code, _) = error else { throw error }
            #expect(code == EOPNOTSUPP)
            let word = try #require(missing, "refused where it could be kept: \(stage)")
            #expect(stage.contains(word))
        }
    }

    /// The words that a refusal must have here; nil if the controller is available.
    private static func missing(_ controller: String, for pid: Int32) throws -> String? {
        guard let cgroup = Cgroups.folder(of: pid), cgroup.contains("/app-") else {
            return "setting pids.max, which needs cgroup v2"
        }
        let slash = cgroup.lastIndex(of: "/")!
        let text = try readFile(cgroup[..<slash] + "/cgroup.subtree_control")
        let enabled = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return enabled.contains(Substring(controller)) ? nil : "needs the controller \(controller)"
    }

    @Test func `a program that changes makes its sandboxed paused instance stale`() throws {
        let prison = try Prison(["ProtectSystem=strict", "ReadWritePaths=SCRATCH"])
        let first = try prison.daemon.awaitPaused(Self.app)[0].instance
        let probe = prison.scratch.path + "/escape"
        let bytes = try readFile(probe)
        let other = open(probe + ".new", O_WRONLY | O_CREAT, 0o755)
        #expect(write(other, bytes, bytes.count) == bytes.count)
        close(other)
        #expect(rename(probe + ".new", probe) == 0)
        try prison.daemon.await("another instance") { client in
            let paused = try client.paused(Self.app)
            return paused.contains { $0.instance != first } ? true : nil
        }
        #expect(
            try prison.attempt(["write=/etc/x"], in: Self.app, expecting: .prewarmed) == ["EROFS"])
    }
}
