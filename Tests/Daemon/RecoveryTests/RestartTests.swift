import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// The supervisor is killed with SIGKILL in the middle of something, and another takes over.
@Suite struct RestartTests {
    private let app = "org.example.a"

    private func daemon(prewarm: Int = 0, _ lines: [String] = []) throws -> TestDaemon {
        try TestDaemon([program(app, try compileProbe("behave.c"), prewarm: prewarm, lines)])
    }

    @Test func `paused instances survive a restart and can be launched`() throws {
        let daemon = try daemon(prewarm: 2)
        let before = try daemon.awaitPaused(app, count: 2)
        try daemon.restart()
        let after = try daemon.awaitPaused(app, count: 2)
        #expect(after.map(\.processId) == before.map(\.processId))
        let launched = try daemon.client().launch(app, ["exit", "3"])
        #expect(launched.kind == .prewarmed)
        #expect(try daemon.client().wait(launched.instance).status == 3)
    }

    /// Closing a pressure trigger takes a grace period of RCU, and an inotify queue 13 ms. The next
    /// supervisor waits for the sockets.
    @Test func `what takes long to close is left to the kernel when the supervisor is killed`()
        throws
    {
        let strace = "/usr/bin/strace"
        let pressure = "/proc/pressure/memory"
        try requireOrSkip(access(strace, X_OK) == 0, "no strace")
        try requireOrSkip(getuid() == 0, "only root may trace any process")
        try requireOrSkip(access(pressure, R_OK | W_OK) == 0, "no pressure stall information")
        var options = TestDaemon.Options()
        options.ownMachine = true
        let daemon = try TestDaemon([], options)
        let pid = try daemon.pid
        // It serves once all is set up.
        _ = try daemon.client().instances()
        // Without CAP_SYS_RESOURCE, the kernel refuses the first two triggers, which a worker closes.
        try Processes.wait("there are more triggers than two") {
            Self.descriptors(of: pid) { $0 == pressure }.count == 2
        }
        let slow = Self.descriptors(of: pid) {
            [pressure, "anon_inode:inotify"].contains($0)
        }
        #expect(slow.count > 2)
        let keeper = try #require(Processes.keepers(of: pid).first)
        let path = daemon.directory.path + "/closed"
        let tracer = try ChildProcess(
            ChildRequest(
                strace,
                arguments: [
                    "strace", "-qq", "-e", "trace=close,close_range", "-o", path, "-p", "\(keeper)",
                ]))
        try Processes.wait("the keeper is not traced") {
            String(decoding: try readFile("/proc/\(keeper)/status"), as: UTF8.self)
                .contains("TracerPid:\t\(tracer.pid)\n")
        }
        try daemon.kill()
        try tracer.waitForExit()
        let closed = String(decoding: try readFile(path), as: UTF8.self)
            .split(separator: "\n").compactMap(Self.range)
        #expect(closed.contains { $0.contains(0) })
        #expect(slow.filter { number in closed.contains { $0.contains(number) } } == [])
    }

    private static func descriptors(of pid: Int32, _ isWanted: (String) -> Bool) -> [Int] {
        (0..<1024).filter { number in
            var target = [CChar](repeating: 0, count: 4096)
            let count = max(0, readlink("/proc/\(pid)/fd/\(number)", &target, target.count))
            let bytes = target.prefix(count).map { UInt8(bitPattern: $0) }
            return isWanted(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// `close(3) = 0` or `close_range(3, 7, 0) = 0`.
    private static func range(_ line: Substring) -> ClosedRange<Int>? {
        let words = line.split { !$0.isNumber && !$0.isLetter && $0 != "_" }
        guard words.count > 1, let first = Int(words[1]) else { return nil }
        if words[0] == "close" { return first...first }
        guard words[0] == "close_range", words.count > 2, let last = Int(words[2]), last >= first
        else { return nil }
        return first...last
    }

    @Test func `an instance that pauses during a restart is found by the next supervisor`() throws {
        let daemon = try daemon(prewarm: 1)
        // The supervisor is killed as early as a client can: the first prewarm has only been
        // ordered.
        let first = try daemon.client().instances(of: app)
        try daemon.restart()
        let paused = try daemon.awaitPaused(app)
        if let pid = first.first?.processId { #expect(paused[0].processId == pid) }
        #expect(try daemon.client().launch(app, ["exit", "0"]).kind == .prewarmed)
    }

    @Test func `a manifest that changed during the restart makes paused instances stale`() throws {
        let daemon = try daemon(prewarm: 1)
        let old = try daemon.awaitPaused(app)
        try daemon.kill()
        try daemon.install(program(app, try compileProbe("behave.c"), prewarm: 1, ["UMask=0077"]))
        try daemon.start()
        let new = try daemon.await("a new instance") { client in
            try client.paused(app).first { $0.instance != old[0].instance }
        }
        #expect(new.processId != old[0].processId)
        try Processes.awaitEnd(of: old[0].processId!)
    }

    @Test func `running instances keep their states`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let active = try client.launch(app, ["wait-forever"])
        let background = try client.launch(app, ["wait-forever"]) { $0.isBackground = true }
        let suspended = try client.launch(app, ["wait-forever"])
        try client.change(.suspend, suspended.instance)
        let answers = try (0..<3).map { _ in try client.instances(of: app) }
        let before = answers[0]
        try daemon.restart()
        let after = try daemon.client().instances(of: app)
        #expect(after.map(\.state) == before.map(\.state))
        #expect(after.map(\.state.known) == [.active, .background, .suspended])
        #expect(after.map(\.processId) == before.map(\.processId))
        // The daemon reads two clocks for each answer, so the last digits may differ, and more of
        // them if it waits for a processor in between.
        try Processes.wait("the times have changed") {
            let later = try daemon.client().instances(of: app)
            return answers.contains { answer in
                zip(later, answer).allSatisfy {
                    abs($0.sinceTimestampUSec - $1.sinceTimestampUSec) < 10_000
                }
            }
        }
        #expect(after.map(\.launchIdentifier) == before.map(\.launchIdentifier))
        let launch = try daemon.client().explain(app).lastLaunch
        #expect(
            launch?.instance == suspended.instance && launch?.kind.known == suspended.kind.known)
        for instance in [active, background, suspended] {
            let client = try daemon.client()
            try client.change(.resume, instance.instance)
            try client.change(.terminate, instance.instance)
            #expect(try client.wait(instance.instance).signal == SIGTERM)
        }
    }

    @Test func `a flood of calls keeps no instance frozen after a restart`() throws {
        let daemon = try daemon()
        let first = try daemon.client().launch(app, ["wait-forever"])
        try requireOrSkip(
            Cgroups.appFolder(of: first.processId!) != nil, "without cgroups, nothing is frozen")
        let launched =
            try [first]
            + (1..<40).map { _ in
                try daemon.client().launch(app, ["wait-forever"])
            }
        let pids = launched.map { $0.processId! }
        try daemon.kill()
        // This looks as if the former supervisor had been killed between the record and the thaw.
        for pid in pids {
            let path = Cgroups.appFolder(of: pid)! + "/cgroup.freeze"
            try FileDescriptor.open(path, O_WRONLY).writeText("1")
            try Processes.wait("it is not frozen") { Processes.isFrozen(pid) }
        }
        try daemon.start()
        // Each client has always sent more calls than were answered.
        let clients = try (0..<8).map { _ in try daemon.client() }
        var answerCounts = clients.map { _ in 0 }
        for client in clients { for _ in 0..<8 { try client.send(.describe) } }
        while answerCounts.contains(0) || pids.contains(where: Processes.isFrozen) {
            for (index, client) in clients.enumerated() {
                _ = try client.reply(to: .describe)
                try client.send(.describe)
                answerCounts[index] += 1
            }
            try #require(answerCounts[0] < 1_000, "some are frozen after a thousand rounds")
        }
        for instance in launched {
            try daemon.client().change(.kill, instance.instance)
        }
    }

    @Test func `a terminate grace continues, and an app that ignores SIGTERM is killed`() throws {
        let daemon = try daemon(["TerminateGraceSec=5"])
        let pipe = try Pipe()
        let launched = try daemon.client().launch(
            app, ["ignore-term", "print", "deaf", "wait-forever"], output: pipe.writeEnd)
        #expect(try readLine(pipe.readEnd) == "deaf")
        let client = try daemon.client()
        try client.send(.transition(.terminate, .instance(launched.instance)))
        try daemon.await("the end to begin") {
            try $0.instance(launched.instance).state == .terminating ? true : nil
        }
        let since = try daemon.client().instance(launched.instance).sinceTimestampUSec
        try daemon.restart()
        let record = try daemon.client().wait(launched.instance)
        #expect(record.reason == .terminateTimeout)
        #expect(record.signal == SIGKILL)
        // The grace counts from the order, not from the restart: the time is less than twice the
        // grace in any case.
        #expect(record.timestampUSec - since >= 4_990_000)
    }

    @Test func `a background grace continues, and then the app is suspended`() throws {
        let daemon = try daemon(["SuspendInBackground=yes", "BackgroundGraceSec=5"])
        let launched = try daemon.client().launch(app, ["wait-forever"]) { $0.isBackground = true }
        let since = try daemon.client().instance(launched.instance).sinceTimestampUSec
        try daemon.restart()
        let status = try daemon.await("the suspension") {
            let status = try $0.instance(launched.instance)
            return status.state == .suspended ? status : nil
        }
        #expect(status.sinceTimestampUSec - since >= 4_990_000)
    }

    @Test func `an exit without a supervisor is reported later with its status`() throws {
        let daemon = try daemon(prewarm: 1)
        try daemon.awaitPaused(app)
        let (first, second) = (try Pipe(), try Pipe())
        let exits = try daemon.client().launch(
            app, ["wait-input", "exit", "9"], input: first.readEnd
        ) { $0.launchIdentifier = "one" }
        let crashes = try daemon.client().launch(
            app, ["wait-input", "signal", "6"], input: second.readEnd
        ) { $0.launchIdentifier = "two" }
        let pids = [exits.processId!, crashes.processId!]
        try daemon.kill()
        first.closeWriteEnd()
        second.closeWriteEnd()
        for pid in pids { try Processes.awaitEnd(of: pid) }
        try daemon.start()
        let one = try daemon.client().wait(.launch("one"))
        #expect(one.status == 9)
        #expect(one.reason == .exitedSelf)
        let two = try daemon.client().wait(.launch("two"))
        #expect(two.signal == 6)
        #expect(two.reason == .crashed)
        // A second wait is answered from the recorded end.
        try daemon.restart()
        #expect(try daemon.client().wait(.launch("one")).status == 9)
    }

    @Test func `a launch that is repeated under its name does not start a second instance`() throws
    {
        let daemon = try daemon(prewarm: 1)
        try daemon.awaitPaused(app)
        let pipe = try Pipe()
        let first = try daemon.client().launch(
            app, ["print", "ran", "wait-forever"], output: pipe.writeEnd
        ) { $0.launchIdentifier = "name" }
        try daemon.restart()
        let second = try daemon.client().launch(
            app, ["print", "ran", "wait-forever"], output: pipe.writeEnd
        ) { $0.launchIdentifier = "name" }
        #expect(second.instance == first.instance)
        #expect(second.isRepeated)
        #expect(second.kind == .prewarmed)
        try daemon.client().change(.kill, first.instance)
        pipe.closeWriteEnd()
        #expect(String(decoding: readToEnd(pipe.readEnd), as: UTF8.self) == "ran\n")
    }

    /// The paused process is stopped, so it cannot answer the order to go until the supervisor that
    /// gave it is dead.
    @Test func `an instance that was told to go and had not started yet runs once`() throws {
        let daemon = try TestDaemon(
            [program(app, try compileProbe("behave.c"), prewarm: 1)],
            {
                var o = TestDaemon.Options(); o.configuration = ["StartDeadlineSec=20"]; return o
            }())
        let paused = try daemon.awaitPaused(app)
        let pid = paused[0].processId!
        let pipe = try Pipe()
        Glibc.kill(pid, SIGSTOP)
        var call = Control.LaunchCall(app: app)
        call.arguments = ["print", "ran", "wait-forever"]
        call.launchIdentifier = "stopped"
        call.standardOutput = 0
        let client = try daemon.client()
        try client.send(.launch(call), descriptors: [pipe.writeEnd])
        try daemon.await("the order to go") {
            try $0.instance(paused[0].instance).state == .launching ? true : nil
        }
        try daemon.restart()
        let again = try daemon.client()
        try again.send(.launch(call), descriptors: [pipe.writeEnd])
        Glibc.kill(pid, SIGCONT)
        guard case .launched(let launched) = try again.reply(to: .launch(call)) else {
            throw TestError("another reply")
        }
        #expect(launched.instance == paused[0].instance)
        #expect(launched.processId == pid)
        try daemon.client().change(.kill, launched.instance)
        pipe.closeWriteEnd()
        #expect(String(decoding: readToEnd(pipe.readEnd), as: UTF8.self) == "ran\n")
    }

    /// Launches a paused process after a restart. The process is stopped until it has been told to
    /// go, so its answer to the new supervisor's question comes after that.
    private func launchUnasked(
        _ testApp: TestApp, _ arguments: [String], to output: Pipe
    ) throws -> (TestDaemon, Control.Launched) {
        var options = TestDaemon.Options()
        options.configuration = ["StartDeadlineSec=20"]
        let daemon = try TestDaemon([testApp], options)
        let paused = try daemon.awaitPaused(app)
        let pid = paused[0].processId!
        Glibc.kill(pid, SIGSTOP)
        try daemon.restart()
        var call = Control.LaunchCall(app: app)
        call.arguments = arguments.map(ByteString.text)
        call.standardOutput = 0
        let client = try daemon.client()
        try client.send(.launch(call), descriptors: [output.writeEnd])
        try daemon.await("the order to go") {
            try $0.instance(paused[0].instance).state == .launching ? true : nil
        }
        Glibc.kill(pid, SIGCONT)
        guard case .launched(let launched) = try client.reply(to: .launch(call)) else {
            throw TestError("another reply")
        }
        #expect(launched.instance == paused[0].instance)
        #expect(launched.processId == pid)
        return (daemon, launched)
    }

    @Test func `an instance that is launched before it answers the new supervisor runs once`()
        throws
    {
        let pipe = try Pipe()
        let (daemon, launched) = try launchUnasked(
            program(app, try compileProbe("behave.c"), prewarm: 1),
            ["print", "ran", "wait-forever"], to: pipe)
        #expect(try readLine(pipe.readEnd) == "ran")
        try daemon.client().change(.kill, launched.instance)
        pipe.closeWriteEnd()
        #expect(readToEnd(pipe.readEnd).isEmpty)
    }

    /// The instance knows its interpreter's arguments, which no supervisor has read since the
    /// restart.
    @Test func `a script that is launched before it answers has its own arguments`() throws {
        let folder = try TemporaryDirectory()
        let script = try folder.write("#!/bin/sh\necho ran with $*\n", to: "script", mode: 0o755)
        let pipe = try Pipe()
        let (daemon, _) = try launchUnasked(
            TestApp(app, exec: script, prewarm: 1), ["one", "two"], to: pipe)
        #expect(try readLine(pipe.readEnd) == "ran with one two")
        withExtendedLifetime(daemon) {}
    }

    @Test func `an app whose READY=1 no supervisor heard becomes ready and is not ended`() throws {
        let daemon = try TestDaemon(
            program(
                app, try compileProbe("ready.c"), prewarm: 1,
                ["ReadyOn=notify", "LaunchDeadlineSec=60"]))
        try daemon.awaitPaused(app)
        let (input, output) = (try Pipe(), try Pipe())
        let launched = try daemon.client().launch(
            app, input: input.readEnd, output: output.writeEnd)
        #expect(try daemon.client().instance(launched.instance).state == .launching)
        try daemon.kill()
        input.closeWriteEnd()
        #expect(try readLine(output.readEnd) == "said")
        try daemon.start()
        try daemon.await("readiness") {
            try $0.instance(launched.instance).state == .active ? true : nil
        }
    }

    @Test func `the first output after a restart makes an app ready that was paused before it`()
        throws
    {
        let daemon = try TestDaemon(
            program(
                app, try compileProbe("behave.c"), prewarm: 1,
                ["ReadyOn=first-output", "LaunchDeadlineSec=60"]))
        try daemon.awaitPaused(app)
        try daemon.restart()
        let launched = try daemon.client().launch(app, ["print", "here", "wait-forever"])
        #expect(launched.kind == .prewarmed)
        try daemon.await("readiness") {
            try $0.instance(launched.instance).state == .active ? true : nil
        }
    }

    @Test func `an attached run gets its true status across a restart`() throws {
        let daemon = try daemon(prewarm: 1)
        try daemon.awaitPaused(app)
        for (words, expected) in [
            (["exit", "9"], ChildProcess.Exit.status(9)), (["signal", "15"], .signal(15)),
        ] {
            for exitsWhileDown in [true, false] {
                let (input, output) = (try Pipe(), try Pipe())
                let run = try ChildProcess(
                    try clientProcess(
                        daemon, ["run", app, "--", "print", "up", "wait-input"] + words
                    ) {
                        $0.descriptors = [0: input.readEnd, 1: output.writeEnd]
                    })
                #expect(try readLine(output.readEnd) == "up")
                // The app may have printed this before the daemon has heard of its process.
                let pid = try daemon.await("the attached run's process") { client in
                    try client.instances(of: app).first { $0.isAttached && $0.exit == nil }?
                        .processId
                }
                try daemon.kill()
                if exitsWhileDown {
                    input.closeWriteEnd()
                    try Processes.awaitEnd(of: pid)
                }
                try daemon.start()
                input.closeWriteEnd()
                #expect(try run.waitForExit() == expected)
            }
        }
    }
}
