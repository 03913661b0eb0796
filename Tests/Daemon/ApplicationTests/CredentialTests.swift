import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Secrets that are handed over at launch; the lock; and launches by a socket.
@Suite struct `Credentials of apps` {
    private static let app = "org.example.app"

    private func daemon(_ prewarm: Int = 0, _ more: String...) throws -> (TestDaemon, Probe) {
        let daemon = try TestDaemon([])
        try daemon.directory.write("secret", to: "token", mode: 0o600)
        var probe = Probe(Self.app)
        probe.prewarm = prewarm
        probe.lines = ["LoadCredential=token:\(daemon.directory.path)/token"] + more
        try probe.install(in: daemon)
        #expect(try daemon.client().reload().failed.isEmpty)
        return (daemon, probe)
    }

    private func directory(_ daemon: TestDaemon, _ instance: UInt64) -> String {
        "\(daemon.runtimeDirectory)/credentials/\(instance)"
    }

    @Test(arguments: [0, 1])
    func `an SDK app gets its secrets at launch, and their directory is removed with the app`(
        prewarm: Int
    ) throws {
        let (daemon, probe) = try daemon(prewarm)
        if prewarm > 0 {
            let paused = try daemon.awaitPaused(Self.app)[0]
            #expect(access(directory(daemon, paused.instance), F_OK) != 0)
        }
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        #expect(launched.kind == (prewarm > 0 ? .prewarmed : .cold))
        try daemon.awaitState(.active, of: launched.instance)
        #expect(probe.told(in: daemon).first == "launch user foreground unlocked token secret")
        var status = stat()
        #expect(stat(directory(daemon, launched.instance), &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o500)
        #expect(stat(directory(daemon, launched.instance) + "/token", &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o400)
        try client.change(.kill, launched.instance)
        _ = try client.wait(launched.instance)
        try Processes.wait("the directory stays") {
            access(directory(daemon, launched.instance), F_OK) != 0
        }
    }

    @Test func `an app gets no secrets while the session is locked, and gets them at the unlock`()
        throws
    {
        let (daemon, probe) = try daemon()
        let client = try daemon.client()
        _ = try client.ask(.lock(user: nil))
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.inactive, of: instance)
        #expect(access(directory(daemon, instance), F_OK) != 0)
        // The session stays locked after the daemon's end.
        try daemon.kill()
        try daemon.start()
        let next = try daemon.client()
        let other = try next.launch(Self.app).instance
        #expect(other == instance)
        #expect(access(directory(daemon, instance), F_OK) != 0)
        _ = try next.ask(.unlock(user: nil))
        // The app gets its messages in order.
        try next.change(.background, instance)
        #expect(
            probe.told(in: daemon).prefix(3) == [
                "launch user foreground locked", "credentials token secret",
                "protectedDataDidBecomeAvailable",
            ])
        #expect(access(directory(daemon, instance), F_OK) == 0)
        // The secrets that were handed over survive a restart.
        try daemon.kill()
        try daemon.start()
        #expect(access(directory(daemon, instance), F_OK) == 0)
    }

    @Test func `an unlock during a launch is reported after the launch, together with the secrets`()
        throws
    {
        let folder = try TemporaryDirectory()
        let gate = folder.path + "/gate"
        for fifo in [gate, gate + "2"] { mkfifo(fifo, 0o600) }
        let (daemon, plain) = try daemon()
        var probe = plain
        probe.environment = ["PROBE_GATE=\(gate)"]
        try probe.install(in: daemon)
        let client = try daemon.client()
        _ = try client.reload()
        _ = try client.ask(.lock(user: nil))
        let launching = try daemon.client()
        try launching.send(.launch(Control.LaunchCall(app: Self.app)))
        close(open(gate, O_WRONLY))
        _ = try client.ask(.unlock(user: nil))
        close(open(gate + "2", O_WRONLY))
        try daemon.awaitState(.active, of: 1)
        #expect(
            probe.told(in: daemon) == [
                "launch user foreground locked", "credentials token secret",
                "protectedDataDidBecomeAvailable", "didBecomeActive",
            ])
    }

    /// A launch that waits at two gates. The lock is `isLocked` at first, and changes between the
    /// gates.
    private func changeLock(from isLocked: Bool, _ prewarm: Int) throws -> [String] {
        let folder = try TemporaryDirectory()
        let gate = folder.path + "/gate"
        for fifo in [gate, gate + "2"] { mkfifo(fifo, 0o600) }
        let (daemon, plain) = try daemon(prewarm)
        var probe = plain
        probe.environment = ["PROBE_GATE=\(gate)"]
        let client = try daemon.client()
        if isLocked { _ = try client.ask(.lock(user: nil)) }
        try probe.install(in: daemon)
        _ = try client.reload()
        if prewarm > 0 { try daemon.awaitPaused(Self.app) }
        let launching = try daemon.client()
        try launching.send(.launch(Control.LaunchCall(app: Self.app)))
        close(open(gate, O_WRONLY))
        _ = try client.ask(isLocked ? .unlock(user: nil) : .lock(user: nil))
        close(open(gate + "2", O_WRONLY))
        let state: Control.ExecutionState = isLocked ? .active : .inactive
        let instance = try daemon.await("the launch") { client in
            try client.instances(of: Self.app).first { $0.state == .known(state) }?.instance
        }
        // No other message follows.
        try client.change(.background, instance)
        return probe.told(in: daemon)
    }

    @Test(arguments: [0, 1])
    func `a lock that changes during a launch is reported once, before the app is in front`(
        prewarm: Int
    ) throws {
        #expect(
            try changeLock(from: false, prewarm) == [
                "launch user foreground unlocked token secret",
                "protectedDataWillBecomeUnavailable token secret", "didEnterBackground",
            ])
        #expect(
            try changeLock(from: true, prewarm) == [
                "launch user foreground locked", "credentials token secret",
                "protectedDataDidBecomeAvailable", "didBecomeActive", "willResignActive",
                "didEnterBackground",
            ])
    }

    /// A launch that is not answered yet.
    private func order(_ daemon: TestDaemon) throws -> UInt64 {
        try daemon.client().send(.launch(Control.LaunchCall(app: Self.app)))
        return try daemon.await("the launch") { client in
            try client.instances(of: Self.app).first { $0.state == .launching }?.instance
        }
    }

    /// Launches an app whose process starts after the lock has changed.
    private func launchLate(lockedBefore: Bool) throws -> (TestDaemon, Probe, UInt64) {
        let (daemon, probe) = try daemon()
        let client = try daemon.client()
        if lockedBefore { _ = try client.ask(.lock(user: nil)) }
        let spawner = try daemon.spawnerPid
        kill(spawner, SIGSTOP)
        defer { kill(spawner, SIGCONT) }
        let instance = try order(daemon)
        _ = try client.ask(lockedBefore ? .unlock(user: nil) : .lock(user: nil))
        kill(spawner, SIGCONT)
        try daemon.awaitState(lockedBefore ? .active : .inactive, of: instance)
        return (daemon, probe, instance)
    }

    @Test func `a launch brings no secret if the session is locked before the process exists`()
        throws
    {
        let (daemon, probe, instance) = try launchLate(lockedBefore: false)
        #expect(probe.told(in: daemon) == ["launch user foreground locked"])
        #expect(access(directory(daemon, instance), F_OK) != 0)
        let client = try daemon.client()
        _ = try client.ask(.unlock(user: nil))
        try client.change(.background, instance)
        #expect(probe.told(in: daemon)[1] == "credentials token secret")
    }

    @Test func `a launch brings its secrets if the session is unlocked before the process exists`()
        throws
    {
        let (daemon, probe, _) = try launchLate(lockedBefore: true)
        #expect(
            probe.told(in: daemon) == [
                "launch user foreground unlocked token secret", "didBecomeActive",
            ])
    }

    @Test(arguments: [false, true])
    func `a lock that changes before a paused app begins its launch is reported at the launch`(
        isLocked: Bool
    ) throws {
        let (daemon, probe) = try daemon(1)
        let client = try daemon.client()
        if isLocked { _ = try client.ask(.lock(user: nil)) }
        let paused = try daemon.awaitPaused(Self.app)[0]
        let pid = try #require(paused.processId)
        // The paused app has its order to go, but does not read it yet.
        kill(pid, SIGSTOP)
        defer { kill(pid, SIGCONT) }
        try daemon.client().send(.launch(Control.LaunchCall(app: Self.app)))
        _ = try daemon.await("the order") { client in
            try client.instances(of: Self.app).first { $0.state == .launching }
        }
        _ = try client.ask(isLocked ? .unlock(user: nil) : .lock(user: nil))
        kill(pid, SIGCONT)
        try daemon.awaitState(isLocked ? .active : .inactive, of: paused.instance)
        #expect(
            probe.told(in: daemon)
                == (isLocked
                    ? [
                        "launch user foreground locked", "credentials token secret",
                        "protectedDataDidBecomeAvailable", "didBecomeActive",
                    ]
                    : [
                        "launch user foreground unlocked token secret",
                        "protectedDataWillBecomeUnavailable token secret",
                    ]))
    }

    @Test func `the lock is remembered when the daemon starts again`() throws {
        let probe = Probe(Self.app)
        let daemon = try TestDaemon.with(probe)
        _ = try daemon.client().ask(.lock(user: nil))
        try daemon.kill()
        try daemon.start()
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.inactive, of: instance)
        #expect(probe.told(in: daemon).first == "launch user foreground locked")
        _ = try daemon.client().ask(.unlock(user: nil))
        try daemon.kill()
        try daemon.start()
        try daemon.client().change(.kill, instance)
        let second = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: second)
        #expect(probe.told(in: daemon).contains("launch user foreground unlocked"))
    }

    @Test(arguments: [0, 1])
    func `a program finds its directory in its environment`(prewarm: Int) throws {
        let app = "org.example.program"
        let program = TestApp(
            app, exec: "/usr/bin/env cat ${CREDENTIALS_DIRECTORY}", prewarm: prewarm,
            "SetCredential=word:two words\\n")
        let daemon = try TestDaemon([])
        let script = "#!/bin/sh\ncat \"$CREDENTIALS_DIRECTORY/word\"\n"
        try daemon.directory.write(script, to: "show", mode: 0o755)
        var own = program
        own.exec = daemon.directory.path + "/show"
        try daemon.install(own)
        let client = try daemon.client()
        #expect(try client.reload().failed.isEmpty)
        if prewarm > 0 { try daemon.awaitPaused(app) }
        let pipe = try Pipe()
        let launched = try client.launch(app, output: pipe.writeEnd)
        pipe.closeWriteEnd()
        #expect(launched.kind == (prewarm > 0 ? .prewarmed : .cold))
        #expect(String(decoding: readToEnd(pipe.readEnd), as: UTF8.self) == "two words\n")
    }

    @Test func `a launch fails with a reason if a secret is missing and has no substitute`()
        throws
    {
        let (daemon, probe) = try daemon()
        unlink(daemon.directory.path + "/token")
        let client = try daemon.client()
        #expect(throws: ControlError.self) { try client.launch(Self.app) }
        #expect(daemon.log.contains("the credentials of \(Self.app): "))
        var other = probe
        other.lines.append("SetCredential=token:instead")
        try other.install(in: daemon)
        _ = try client.reload()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        #expect(probe.told(in: daemon).first == "launch user foreground unlocked token instead")
    }

    @Test func `only the app's own user can read the secrets`() throws {
        try requireOrSkip(getuid() == 0, "only root can run apps as others")
        let (daemon, probe) = try daemon(0, "User=65534")
        chmod(daemon.directory.path, 0o1777)
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        #expect(probe.told(in: daemon).first == "launch user foreground unlocked token secret")
        let file = directory(daemon, instance) + "/token"
        let read = "import sys; open(sys.argv[1]).read()"
        for (user, status) in [(65_534, 0), (65_533, 1)] {
            var request = ChildRequest(
                "/usr/bin/setpriv",
                arguments: [
                    "setpriv", "--reuid=\(user)", "--regid=65533", "--clear-groups", "python3",
                    "-c", read, file,
                ])
            request.environment = ["PATH=/usr/bin:/bin"]
            request.descriptors = [2: open("/dev/null", O_WRONLY)]
            #expect(try ChildProcess(request).waitForExit() == .status(Int32(status)))
        }
    }

    /// Mapping, writing, truncating, growing and reopening each fail with EPERM.
    private static let sealed = "sealed mapped 1, written 1, cut 1, grown 1, reopened "

    @Test(arguments: [0, 1])
    func `nobody can change the secrets of an SDK app, not even root`(prewarm: Int) throws {
        let (daemon, plain) = try daemon(prewarm)
        var probe = plain
        probe.environment = ["PROBE_TAMPER=1"]
        try probe.install(in: daemon)
        _ = try daemon.client().reload()
        if prewarm > 0 { try daemon.awaitPaused(Self.app) }
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        #expect(probe.told(in: daemon)[1] == Self.sealed + "1")
    }

    @Test func `an app of an ordinary user's daemon cannot change its secrets`() throws {
        let daemon = try TestDaemon([], .asNobody)
        var probe = Probe(Self.app)
        probe.environment = ["PROBE_TAMPER=1"]
        probe.lines = ["SetCredential=token:secret"]
        try probe.install(in: daemon)
        _ = try daemon.client().reload()
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon).prefix(2) == [
                "launch user foreground unlocked token secret", Self.sealed + "1",
            ])
    }

    @Test func `an app of another user can change neither the file of secrets nor its directory`()
        throws
    {
        try requireOrSkip(getuid() == 0, "only root can run apps as others")
        let (daemon, plain) = try daemon(0, "User=65534")
        var probe = plain
        probe.environment = ["PROBE_TAMPER=1"]
        try probe.install(in: daemon)
        _ = try daemon.client().reload()
        chmod(daemon.directory.path, 0o1777)
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon).dropFirst().prefix(2) == [
                Self.sealed + "13",
                "directory read 0, written 13, opened up 1, laid open 1, added 13, renamed 13, removed 13",
            ])
    }

    @Test func `a launch that another supervisor continues brings the secrets too`() throws {
        let (daemon, probe) = try daemon()
        let spawner = try daemon.spawnerPid
        kill(spawner, SIGSTOP)
        defer { kill(spawner, SIGCONT) }
        let instance = try order(daemon)
        try daemon.kill()
        kill(spawner, SIGCONT)
        try daemon.start()
        try daemon.awaitState(.active, of: instance)
        #expect(probe.told(in: daemon).first == "launch user foreground unlocked token secret")
        #expect(access(directory(daemon, instance), F_OK) == 0)
    }
}

@Suite struct `Sockets of SDK apps` {
    private static let app = "org.example.app"

    @Test(arguments: [0, 1])
    func `the first connection launches an app in the background`(prewarm: Int) throws {
        let daemon = try TestDaemon([])
        var probe = Probe(Self.app)
        probe.prewarm = prewarm
        probe.sections = ["[Socket]", "ListenStream=\(daemon.directory.path)/socket"]
        try probe.install(in: daemon)
        #expect(try daemon.client().reload().failed.isEmpty)
        if prewarm > 0 { try daemon.awaitPaused(Self.app) }
        let connection = try UnixSocket.connect(
            to: daemon.directory.path + "/socket", .stream)
        try daemon.await("the app") { client in
            try client.instances(of: Self.app).contains { $0.state == .background } ? true : nil
        }
        let told = probe.told(in: daemon)
        #expect(told.first == "launch socket background unlocked")
        // (A paused one gets its environment with GO, which the probe does not keep.)
        #expect(prewarm > 0 || told[1] == "sockets 1")
        #expect(told.last == "didEnterBackground")
        withExtendedLifetime(connection) {}
    }
}
