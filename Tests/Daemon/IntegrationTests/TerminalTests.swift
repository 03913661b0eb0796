import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `greenroomctl run` on a user's terminal: an app behaves as if the shell had run it.
@Suite struct TerminalTests {
    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"
    private static let all = [cold, warm]

    /// A shell at a terminal, and a program as two apps, one cold and one prewarmed with the
    /// shell's environment.
    private static func desk(
        _ exec: String, _ lines: [String] = [], _ options: TestDaemon.Options = .init(),
        sandbox: [String] = []
    ) throws -> Desk {
        try Desk(
            cold: cold, warm: warm, exec: exec, first: "--version", lines, options,
            sandbox: sandbox)
    }

    @Test(arguments: all)
    func `an app has its own terminal`(_ app: String) throws {
        let desk = try Self.desk("/bin/sh")
        let shown = try desk.shell.enter(
            "greenroomctl run \(app) -- -c 'test -t 0 && test -t 1 && test -t 2 && stty size && "
                + "echo to the terminal >/dev/tty; exit 7'; echo status $?",
            until: "status 7\r\n")
        #expect(shown.contains("24 80\r\nto the terminal\r\n"))
        try desk.expectKind(of: app)
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
    }

    @Test(arguments: all)
    func `an app gets the keys, the window size and the interrupt key`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app)", until: "waiting\r\n")
        try desk.shell.enter("word", until: "got word\r\n")
        desk.shell.resize(rows: 30, columns: 100)
        try desk.shell.await("size 30 100\r\n")
        desk.shell.type("\u{3}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 130"))
        try desk.expectKind(of: app)
        #expect(!desk.shell.isRaw)
    }

    /// In a container, the daemon's process numbers differ from the client's.
    @Test(arguments: all)
    func `an app gets the keys in a container too`(_ app: String) throws {
        try requireOrSkip(
            getuid() == 0, "only root makes a namespace of process numbers everywhere")
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter(
            "unshare --pid --fork --mount-proc greenroomctl run \(app)", until: "waiting\r\n")
        try desk.awaitFront()
        try desk.shell.enter("word", until: "got word\r\n")
        desk.shell.type("\u{4}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 3"))
        #expect(!desk.shell.isRaw)
    }

    @Test func `if the app has ended and the daemon hangs, the interrupt key ends the client`()
        throws
    {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        let supervisor = try desk.daemon.pid
        defer { kill(supervisor, SIGCONT) }
        try desk.shell.enter("greenroomctl run \(Self.cold)", until: "waiting\r\n")
        // The app may have written before the daemon heard of its process.
        let pid = try desk.daemon.await("its process") {
            try $0.instances(of: Self.cold).first { $0.isAttached && $0.exit == nil }?.processId
        }
        kill(supervisor, SIGSTOP)
        kill(pid, SIGKILL)
        try desk.shell.await("the terminal as it was") { !desk.shell.isRaw }
        desk.shell.type("\u{3}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 130"))
    }

    @Test(arguments: all)
    func `the stop key stops an app, and fg continues it`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app)", until: "waiting\r\n")
        let instance = try desk.instance(app)
        desk.shell.type("\u{1A}")
        #expect(try desk.shell.await("ready> ").contains("Stopped"))
        #expect(!desk.shell.isRaw)
        let stopped = try desk.daemon.client().instance(instance.instance)
        #expect(stopped.state == .suspended || desk.isDegraded)
        #expect(Processes.state(of: try #require(stopped.processId)) == "T")
        #expect(try desk.shell.enter("jobs").contains("Stopped"))
        try desk.shell.enter("fg", until: "run \(app)\r\n")
        try desk.awaitFront()
        try desk.shell.enter("again", until: "got again\r\n")
        desk.shell.type("\u{4}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 3"))
        try desk.expectKind(of: app)
    }

    @Test(arguments: all)
    func `an app that stops itself gives the terminal back first`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app) -- raw", until: "waiting\r\n")
        for _ in 0..<2 {
            desk.shell.type("\u{1A}")
            try desk.shell.await("stopping\r\n")
            try desk.shell.await("ready> ")
            #expect(!desk.shell.isRaw)
            try desk.shell.enter("fg", until: "going on\r\n")
        }
        desk.shell.type("q")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 3"))
    }

    @Test(arguments: all)
    func `an app in the background shows its output and gets no key`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app) &", until: "waiting\r\n")
        #expect(!desk.shell.isRaw)
        // The shell's prompt comes before or after the app's line: both write when they are ready.
        try desk.shell.enter("echo the shell reads", until: "\nthe shell reads\r\n")
        try desk.shell.enter("fg", until: "run \(app)\r\n")
        try desk.awaitFront()
        try desk.shell.enter("mine", until: "got mine\r\n")
        desk.shell.type("\u{3}")
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
    }

    @Test func `an app that draws in the background is stopped until it is in front`() throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(Self.cold) -- raw &")
        try desk.shell.await("its stop") { try desk.shell.enter("jobs").contains("Stopped") }
        #expect(!desk.shell.isRaw)
        try desk.shell.enter("fg", until: "waiting\r\n")
        desk.shell.type("q")
        try desk.shell.await("ready> ")
    }

    @Test(arguments: all)
    func `a shell in the app's terminal has its own job control`(_ app: String) throws {
        let desk = try Self.desk("/bin/bash")
        try desk.shell.enter(
            "PS1='in''ner> ' greenroomctl run \(app) -- --norc --noprofile --noediting -i",
            until: "inner> ")
        let shown = try desk.shell.enter("cat", until: "cat\r\n")
        #expect(!shown.contains("no job control"))
        try desk.shell.enter("word", until: "word\r\nword\r\n")
        desk.shell.type("\u{1A}")
        #expect(try desk.shell.await("inner> ").contains("Stopped"))
        #expect(try desk.shell.enter("jobs", until: "inner> ").contains("Stopped"))
        try desk.shell.enter("fg", until: "cat\r\n")
        try desk.shell.enter("more", until: "more\r\nmore\r\n")
        desk.shell.type("\u{3}")
        try desk.shell.await("inner> ")
        try desk.shell.enter("exit 5")
        #expect(try desk.shell.enter("echo status $?").contains("status 5"))
        #expect(!desk.shell.isRaw)
    }

    @Test(arguments: all)
    func `for an app with pipes beside its terminal, only the terminal is replaced`(_ app: String)
        throws
    {
        let desk = try Self.desk("/bin/sh")
        let read = try desk.shell.enter(
            "echo piped | greenroomctl run \(app) -- -c 'cat; test -t 1 && test ! -t 0 && "
                + "read x </dev/tty && echo got $x'", until: "piped\r\n")
        #expect(read.contains("echo piped"))
        try desk.shell.enter("key", until: "got key\r\n")
        try desk.shell.await("ready> ")
        let written = try desk.shell.enter(
            "greenroomctl run \(app) -- -c 'echo out; test -t 1 || echo a pipe' | cat")
        #expect(written.contains("out\r\na pipe\r\n"))
        let forced = try desk.shell.enter(
            "greenroomctl run --pty \(app) -- -c 'test -t 1 && echo a terminal' | cat")
        #expect(forced.contains("a terminal"))
        #expect(!desk.shell.isRaw)
    }

    @Test func `an app with a socket beside its terminal keeps the caller's terminal`() throws {
        let desk = try Self.desk("/bin/sh")
        try desk.daemon.directory.write(
            """
            import os, socket, subprocess
            ours, theirs = socket.socketpair()
            words = ["greenroomctl", "run", "\(Self.cold)", "--", "-c", "tty"]
            subprocess.run(words, stdout=theirs)
            print("the same:", ours.recv(99).decode().strip() == os.ttyname(0))
            """, to: "beside.py")
        let shown = try desk.shell.enter("python3 \(desk.daemon.directory.path)/beside.py")
        #expect(shown.contains("the same: True\r\n"))
    }

    @Test(arguments: all)
    func `an app that is continued in the background does not come to the front`(_ app: String)
        throws
    {
        let desk = try Self.desk("/bin/sh")
        let instance = try desk.stopped(app)
        let client = try desk.daemon.client()
        try desk.shell.enter("bg", until: "ready> ")
        try desk.daemon.await("its going on") {
            try $0.instance(instance).state == .background ? true : nil
        }
        // The shell prints the line before it gives the terminal away.
        try desk.shell.enter("fg", until: "1000'\r\n")
        try desk.awaitFront()
        desk.shell.type("\u{3}")
        #expect(try client.wait(instance).signal == SIGINT)
        try desk.shell.await("ready> ")
    }

    @Test(arguments: all)
    func `the stop key freezes an app with a pipe together with its client`(_ app: String) throws {
        let desk = try Self.desk("/bin/sh")
        let instance = try desk.stopped(app, beside: " | cat")
        let client = try desk.daemon.client()
        try desk.shell.enter("fg", until: "| cat\r\n")
        try desk.daemon.await("its going on") {
            try $0.instance(instance).state == .suspended ? nil : true
        }
        desk.shell.type("\u{3}")
        #expect(try client.wait(instance).signal == SIGINT)
        try desk.shell.await("ready> ")
    }

    @Test(arguments: all)
    func `a signal that the caller ignores does not reach the app`(_ app: String) throws {
        let desk = try Self.desk("/bin/sh")
        try desk.shell.enter(
            "nohup greenroomctl run \(app) -- -c 'exec sleep 1000' </dev/null >/dev/null 2>&1 &")
        let instance = try desk.instance(app).instance
        // If both signals were sent, the hang-up would arrive first.
        try desk.shell.enter("kill -HUP %1; kill -TERM %1")
        #expect(try desk.daemon.client().wait(instance).signal == SIGTERM)
        // The client may not have asked for the end yet, and would then wait for another daemon.
        try desk.shell.enter("wait %1; echo its client $?", until: "its client 143")
    }

    @Test(arguments: [
        ("SystemCallFilter=~setsid getsid", Control.LaunchKind.prewarmed),
        ("SystemCallFilter=~ioctl", .cold), ("SystemCallFilter=~pipe2", .cold),
    ])
    func `a confined app takes its terminal, if necessary in a cold launch`(
        _ filter: String, _ kind: Control.LaunchKind
    ) throws {
        let desk = try Self.desk(
            "/bin/sh", [], sandbox: ["[Sandbox]", filter, "SystemCallErrorNumber=EPERM"])
        let shown = try desk.shell.enter(
            "greenroomctl run \(Self.warm) -- -c 'echo to the terminal >/dev/tty; exit 7'; "
                + "echo status $?", until: "status 7\r\n")
        #expect(shown.contains("\r\nto the terminal\r\n"))
        let launch = try desk.daemon.client().explain(Self.warm).lastLaunch
        #expect(launch?.kind == kind)
        #expect(launch?.coldReason == (kind == .cold ? .known(.resumeFailed) : nil))
    }

    @Test(arguments: all)
    func `an app on a terminal outlives the daemon, with its keys and its status`(_ app: String)
        throws
    {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app)", until: "waiting\r\n")
        _ = try desk.instance(app)
        try desk.daemon.kill()
        try desk.shell.enter("alone", until: "got alone\r\n")
        try desk.daemon.start()
        try desk.shell.enter("again", until: "got again\r\n")
        desk.shell.type("\u{4}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 3"))
        #expect(!desk.shell.isRaw)
    }

    /// The keys are typed before the client has been told how its app ended.
    @Test(arguments: all)
    func `keys that are typed after the app's end go to the shell`(_ app: String) throws {
        let desk = try Self.desk("/bin/sh")
        try desk.shell.enter(
            "greenroomctl run \(app) -- -c 'echo up; read word; exit 3'", until: "up\r\n")
        try desk.awaitFront()
        let client = try desk.shell.foregroundGroup
        // The app may show output before the client knows its process.
        try desk.shell.await("the client's eye on it") {
            KernelObjects.openFiles(of: client).contains { $0.contains("pidfd") }
        }
        let daemon = try desk.daemon.pid
        kill(daemon, SIGSTOP)
        defer { kill(daemon, SIGCONT) }
        desk.shell.type("word\r")
        try desk.shell.await("the terminal") { !desk.shell.isRaw }
        desk.shell.type("echo typed $?\r")
        kill(daemon, SIGCONT)
        try desk.shell.await("typed 3\r\n")
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGSEGV, SIGABRT, SIGALRM])
    func `the terminal is restored, whatever signal ends the client`(_ signal: Int32) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(Self.cold)", until: "waiting\r\n")
        _ = try desk.instance(Self.cold)
        #expect(desk.shell.isRaw)
        kill(try desk.shell.foregroundGroup, signal)
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
        #expect(try desk.shell.enter("echo status $?").contains("status \(128 + signal)"))
    }

    @Test func `a daemon that ends gives the terminal back`() throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(Self.cold)", until: "waiting\r\n")
        _ = try desk.instance(Self.cold)
        try desk.daemon.terminate()
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
    }

    @Test func `a client that is ended while the daemon is away gives the terminal back`() throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(Self.cold)", until: "waiting\r\n")
        _ = try desk.instance(Self.cold)
        try desk.daemon.kill()
        try desk.shell.enter("alone", until: "got alone\r\n")
        kill(try desk.shell.foregroundGroup, SIGTERM)
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
        try desk.daemon.start()
    }

    @Test(arguments: all)
    func `an app on a terminal also stops and continues without cgroups`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"), [], .asNobody)
        try desk.shell.enter("greenroomctl run \(app) -- raw", until: "waiting\r\n")
        desk.shell.type("\u{1A}")
        try desk.shell.await("stopping\r\n")
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
        try desk.shell.enter("fg", until: "going on\r\n")
        desk.shell.type("q")
        try desk.shell.await("ready> ")
        let status = try desk.shell.enter("echo status $?")
        #expect(status.contains("status 3"), "\(status)")
        #expect(!desk.shell.isRaw)
    }

    @Test(arguments: all)
    func `the interrupt key reaches an app that was suspended elsewhere`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try requireOrSkip(!desk.isDegraded, "freezing needs cgroups")
        try desk.shell.enter("greenroomctl run \(app)", until: "waiting\r\n")
        let instance = try desk.awaitRunning(app)
        try desk.awaitFront()
        try desk.daemon.client().change(.suspend, instance)
        desk.shell.type("\u{3}")
        // A fatal signal ends a program although it is frozen (cgroup v2), so the client may have
        // nothing to thaw and nothing to say. The stop key below is not fatal.
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 130"))
        #expect(!desk.shell.isRaw)
    }

    @Test func `the stop key stops an app that was suspended elsewhere`() throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try requireOrSkip(!desk.isDegraded, "freezing needs cgroups")
        try desk.shell.enter("greenroomctl run \(Self.cold)", until: "waiting\r\n")
        let instance = try desk.awaitRunning(Self.cold)
        try desk.awaitFront()
        try desk.daemon.client().change(.suspend, instance)
        desk.shell.type("\u{1A}")
        let shown = try desk.shell.await("ready> ")
        #expect(shown.contains("suspended by somebody else") && shown.contains("Stopped"))
        try desk.shell.enter("fg", until: "run \(Self.cold)\r\n")
        try desk.awaitFront()
        try desk.shell.enter("again", until: "got again\r\n")
        desk.shell.type("\u{4}")
        try desk.shell.await("ready> ")
    }

    @Test func `report does not fill a terminal with its page`() throws {
        let desk = try Self.desk("/bin/sh")
        let shown = try desk.shell.enter(
            "greenroomctl report; echo status $?", until: "status 1\r\n")
        #expect(shown.contains("greenroomctl report >week.html"))
    }

    @Test(arguments: all)
    func `a program on a terminal sees no children but its own`(_ app: String) throws {
        let desk = try Self.desk("/bin/bash")
        let shown = try desk.shell.enter(
            "greenroomctl run \(app) -- -c 'wait -n; echo wait $?; sleep 0 & wait -n; echo wait $?'"
        )
        #expect(shown.contains("wait 127\r\nwait 0\r\n"))
    }
}
