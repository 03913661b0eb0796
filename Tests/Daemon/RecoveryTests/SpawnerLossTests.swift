import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// The spawner is killed, or executes itself again, under a living supervisor.
@Suite struct SpawnerLossTests {
    private let app = "org.example.a"

    private func daemon(_ options: TestDaemon.Options = .init()) throws -> TestDaemon {
        try TestDaemon([program(app, try compileProbe("behave.c"), prewarm: 1)], options)
    }

    /// Kills the spawner and waits until the supervisor has another.
    private func replaceSpawner(of daemon: TestDaemon) throws {
        let old = try daemon.spawnerPid
        Glibc.kill(old, SIGKILL)
        try Processes.awaitEnd(of: old)
        // A launch needs a spawner, and is refused until there is one.
        while true {
            do {
                let launched = try daemon.client().launch(app, ["exit", "0"]) {
                    $0.environment = [.init(name: "LC_ALL", value: "C.UTF-8")]
                }
                #expect(try daemon.client().wait(launched.instance).status == 0)
                break
            } catch ControlError.spawnFailed {
                continue
            }
        }
        #expect(try daemon.spawnerPid != old)
        #expect(access("/proc/\(old)", F_OK) != 0, "the daemon has not reaped the spawner")
    }

    private func survives(_ options: TestDaemon.Options) throws {
        let daemon = try daemon(options)
        try daemon.awaitPaused(app)
        let client = try daemon.client()
        let first = try client.launch(app, ["wait-forever"])
        let second = try client.launch(app, ["child", "wait-forever"])
        let pid = first.processId!
        try replaceSpawner(of: daemon)
        #expect(Processes.isAlive(pid))
        #expect(try client.change(.suspend, first.instance) == .suspended)
        let cgroup = Cgroups.appFolder(of: pid)
        if let cgroup {
            let events = try readFile(cgroup + "/cgroup.events")
            #expect(String(decoding: events, as: UTF8.self).contains("frozen 1"))
        } else {
            // The signal is on its way.
            try Processes.wait("it is not stopped") { Processes.state(of: pid) == "T" }
        }
        try client.change(.resume, first.instance)
        #expect(Processes.state(of: pid) != "T")
        try client.change(.terminate, first.instance)
        let record = try client.wait(first.instance)
        #expect(record.status == nil && (record.signal == nil) == !Processes.tellExits)
        #expect(!Processes.isAlive(pid))
        try client.change(.kill, second.instance)
        #expect((try client.wait(second.instance).signal == nil) == !Processes.tellExits)
        // One more may be paused with the environment before.
        try daemon.await("a paused instance") { try $0.paused(app).isEmpty ? nil : true }
        let third = try client.launch(app, ["exit", "4"])
        #expect(try client.wait(third.instance).status == 4)
        if let cgroup {
            let parent = String(cgroup.prefix(upTo: cgroup.lastIndex(of: "/")!))
            try daemon.terminate()
            #expect(access(cgroup, F_OK) != 0)
            #expect(access(parent, F_OK) != 0)
        }
    }

    @Test func `a paused instance outlives the spawner and can be launched`() throws {
        let daemon = try daemon()
        let paused = try daemon.awaitPaused(app)[0]
        let old = try daemon.spawnerPid
        Glibc.kill(old, SIGKILL)
        try Processes.awaitEnd(of: old)
        let launched = try daemon.client().launch(app, ["exit", "3"])
        #expect(launched.processId == paused.processId)
        let record = try daemon.client().wait(launched.instance)
        #expect(record.status == (Processes.tellExits ? 3 : nil))
        try daemon.awaitPaused(app)
    }

    private func survivesBoth(_ options: TestDaemon.Options) throws {
        let daemon = try daemon(options)
        let paused = try daemon.awaitPaused(app)[0]
        let input = try Pipe()
        let waiting = try daemon.client().launch(
            app, ["wait-input", "exit", "6"], input: input.readEnd)
        #expect(waiting.processId == paused.processId)
        let suspended = try daemon.client().launch(app, ["child", "wait-forever"])
        #expect(try daemon.client().change(.suspend, suspended.instance) == .suspended)
        let left = try daemon.awaitPaused(app)[0]
        let old = try daemon.spawnerPid
        Glibc.kill(old, SIGKILL)
        try Processes.awaitEnd(of: old)
        try daemon.restart()
        // Nobody holds the other end of a paused instance's channel, so it ends, and another takes
        // its place.
        try Processes.awaitEnd(of: left.processId!)
        try daemon.await("another paused one") { client in
            try client.paused(app).contains { $0.instance != left.instance } ? true : nil
        }
        #expect(try daemon.client().instance(suspended.instance).state == .suspended)
        #expect(try daemon.pid(of: suspended.instance) == suspended.processId)
        #expect(try daemon.pid(of: waiting.instance) == waiting.processId)
        input.closeWriteEnd()
        let record = try daemon.client().wait(waiting.instance)
        #expect(record.status == (Processes.tellExits ? 6 : nil))
        try daemon.client().change(.terminate, suspended.instance)
        #expect(!Processes.isAlive(suspended.processId!))
    }

    @Test func `apps outlive supervisor and spawner together`() throws {
        try survivesBoth(.init())
    }

    @Test func `apps outlive supervisor and spawner together even without cgroups`() throws {
        try survivesBoth(.asNobody)
    }

    @Test func `apps outlive the spawner and stay manageable`() throws { try survives(.init()) }

    @Test func `apps outlive the spawner even without cgroups`() throws { try survives(.asNobody) }

    @Test func `a process that a spawner started but did not report is adopted`() throws {
        let daemon = try daemon()
        try daemon.awaitPaused(app)
        let client = try daemon.client()
        let running = try client.launch(app, ["wait-forever"])
        let cgroup = Cgroups.appFolder(of: running.processId!)
        try requireOrSkip(cgroup != nil, "no writable cgroup v2")
        let base = cgroup!.prefix(upTo: cgroup!.lastIndex(of: "/")!)
        try daemon.awaitPaused(app)
        // The spawner takes no more orders, so the test carries out the last one.
        let old = try daemon.spawnerPid
        Glibc.kill(old, SIGSTOP)
        var call = Control.LaunchCall(app: app)
        call.environment = [.init(name: "LC_ALL", value: "C.UTF-8")]
        try client.send(.launch(call))
        let observer = try daemon.client()
        let launching = try daemon.await("the launch") { _ in
            try observer.instances(of: app).first { $0.state == .launching }
        }
        let directory = "\(base)/app-\(app)-\(launching.instance)"
        #expect(mkdir(directory, 0o755) == 0)
        var request = ChildRequest("/bin/sleep", arguments: ["sleep", "1000"])
        request.newSession = true
        let unknown = try ChildProcess(request)
        try Array("\(unknown.pid)".utf8).withUnsafeBytes {
            let file = open(directory + "/cgroup.procs", O_WRONLY)
            defer { close(file) }
            guard write(file, $0.baseAddress, $0.count) > 0 else { throw TestError("joining") }
        }
        Glibc.kill(old, SIGKILL)
        guard case .launched(let launched) = try client.reply(to: .launch(call)) else {
            throw TestError("another reply")
        }
        #expect(launched.processId == unknown.pid)
        try client.change(.kill, launched.instance)
        #expect(try unknown.waitForExit() == .signal(SIGKILL))
        #expect(Processes.isAlive(running.processId!))
        try client.change(.kill, running.instance)
    }

    @Test func `unknown cgroups and those inside them are removed when both daemons are new`()
        throws
    {
        let daemon = try daemon()
        let pid = try #require(try daemon.client().launch(app, ["wait-forever"]).processId)
        let cgroup = Cgroups.appFolder(of: pid)
        try requireOrSkip(cgroup != nil, "no writable cgroup v2")
        let spawner = try daemon.spawnerPid
        try daemon.kill()
        Glibc.kill(spawner, SIGKILL)
        try Processes.awaitEnd(of: spawner)
        // An instance whose first process has ended in the meantime leaves such a cgroup.
        let stray = try #require(cgroup?.split(separator: "/").dropLast().joined(separator: "/"))
        let path = "/\(stray)/app-org.example.gone-99"
        #expect(mkdir(path, 0o755) == 0 && mkdir(path + "/inner", 0o755) == 0)
        try daemon.start()
        try Processes.wait("the stray cgroup stays") { access(path, F_OK) != 0 }
        try daemon.client().change(
            .kill, try #require(daemon.client().instances(of: app).first).instance)
    }

    /// The instance is no longer traced, but the report of that never arrived.
    @Test func `a paused instance stays usable if the spawner dies while it stops tracing`()
        throws
    {
        let daemon = try TestDaemon()
        let pipe = try Pipe()
        var request = ChildRequest(
            try compileProbe("end-at-detach.c"),
            arguments: ["end-at-detach", "\(try daemon.spawnerPid)"])
        request.descriptors[1] = pipe.writeEnd
        let killer = try ChildProcess(request)
        #expect(try readLine(pipe.readEnd) == "watching")
        try daemon.install(program(app, try compileProbe("behave.c"), prewarm: 1))
        _ = try daemon.client().reload()
        #expect(try killer.waitForExit() == .status(0))
        let left = try daemon.client().instances(of: app)[0]
        let paused = try daemon.awaitPaused(app)[0]
        #expect(paused.instance == left.instance && paused.processId == left.processId)
        let launched = try daemon.client().launch(app, ["wait-forever"])
        #expect(launched.processId == paused.processId)
        try daemon.client().change(.kill, launched.instance)
    }

    @Test func `a spawner that executes itself again still gives exit statuses`() throws {
        let daemon = try daemon()
        try daemon.awaitPaused(app)
        let input = try Pipe()
        let launched = try daemon.client().launch(
            app, ["wait-input", "exit", "5"], input: input.readEnd)
        let spawner = try daemon.spawnerPid
        Glibc.kill(spawner, SIGUSR1)
        // When the spawner answers an order of another supervisor, it has executed itself.
        let other = try daemon.client().launch(app, ["exit", "0"])
        #expect(try daemon.client().wait(other.instance).status == 0)
        input.closeWriteEnd()
        #expect(try daemon.client().wait(launched.instance).status == 5)
        #expect(try daemon.spawnerPid == spawner)
    }

    /// A copy of the spawner for one daemon, which the test can remove.
    private func copySpawner(to directory: TemporaryDirectory) throws -> String {
        let copy = directory.path + "/spawner"
        let source = try readFile(try Programs.spawner)
        let file = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0o755)
        try source.withUnsafeBytes {
            var rest = $0[...]
            while !rest.isEmpty {
                let count = write(
                    file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 else { throw TestError("copying the spawner") }
                rest = rest.dropFirst(count)
            }
        }
        close(file)
        awaitNoWriter(of: copy)
        return copy
    }

    @Test func `a connection that comes while there is no spawner launches its app afterwards`()
        throws
    {
        let directory = try TemporaryDirectory()
        let copy = try copySpawner(to: directory)
        var options = TestDaemon.Options()
        options.spawner = copy
        let path = directory.path + "/front"
        let listener = TestApp(
            app, exec: "\(try compileProbe("accept.c")) serve", prewarm: 0,
            prewarmLines: ["[Socket]", "ListenStream=\(path)"])
        let daemon = try TestDaemon([listener], options)
        let watcher = try daemon.watch()
        let old = try daemon.spawnerPid
        rename(copy, copy + ".away")
        Glibc.kill(old, SIGKILL)
        try Processes.wait("the daemon does not miss the spawner") {
            try daemon.client().describe().degraded.contains { $0.code == "no_spawner" }
        }
        let connection = try UnixSocket.connect(to: path, .stream, nonblocking: false)
        _ = try daemon.client().list()
        rename(copy + ".away", copy)
        try #require(
            try connection.descriptor.waitUntilReadable(milliseconds: Processes.deadline),
            "nobody answers")
        // The first launch is the one that succeeds.
        let event = try watcher.next {
            $0.app == app && ($0.kind == .launched || $0.kind == .exited)
        }
        #expect(event.kind == .launched)
    }

    @Test func `without any spawner the supervisor waits quietly and says what is missing`() throws
    {
        let directory = try TemporaryDirectory()
        let copy = try copySpawner(to: directory)
        var options = TestDaemon.Options()
        options.spawner = copy
        let daemon = try daemon(options)
        try daemon.awaitPaused(app)
        let launched = try daemon.client().launch(app, ["wait-forever"])
        try daemon.awaitPaused(app)
        let old = try daemon.spawnerPid
        unlink(copy)
        Glibc.kill(old, SIGKILL)
        try Processes.awaitEnd(of: old)
        let failure = control {
            while true {
                _ = try daemon.client().launch(app, ["exit", "0"]) {
                    $0.environment = [.init(name: "LC_ALL", value: "C.UTF-8")]
                }
            }
        }
        guard case .spawnFailed? = failure else { throw TestError("\(failure, default: "none")") }
        // Two attempts a second cost a few wake-ups and hardly any time.
        let begin = ContinuousClock.now
        let before = switches(of: try daemon.pid)
        try awaitTimer(milliseconds: 2000)
        let count = switches(of: try daemon.pid) - before
        // On a busy machine, this thread comes back later.
        let seconds = begin.duration(to: .now) / .seconds(1)
        #expect(Double(count) < 30 * seconds)
        #expect(Processes.isAlive(launched.processId!))
        #expect(daemon.log.contains("reaching the spawner"))
        try daemon.client().change(.kill, launched.instance)
        #expect(try daemon.client().wait(launched.instance).reason == .forceQuit)
    }
}

/// Voluntary context switches so far.
func switches(of pid: Int32) -> Int {
    Processes.line("voluntary_ctxt_switches", of: pid).flatMap { Int($0) } ?? -1
}

/// Waits for a span of time in which something is observed. This is not a wait for a fact.
func awaitTimer(milliseconds: Int) throws {
    let number = cts_timer(Int32(milliseconds))
    guard number >= 0 else { throw TestError("timerfd: errno \(-number)") }
    let timer = FileDescriptor(owning: number)
    _ = try timer.waitUntilReadable(milliseconds: Processes.deadline)
}
