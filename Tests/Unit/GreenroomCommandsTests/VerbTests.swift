import ArgumentParser
import GreenroomControl
@testable import GreenroomCommands
import Glibc
import GreenroomLinux
import TestSupport
import Testing
import Varlink
import VarlinkTestSupport

@Suite struct `A verb` {
    @Test func `list shows a table`() throws {
        let daemon = try FakeDaemon()
        #expect(
            try run("list", on: daemon).output == """
                APP                NAME    STATE        PREWARMED   DEPTH  SAVES  RUNNING
                org.ffmpeg.ffmpeg  FFmpeg  active       1 of 2      -      -      1
                org.debian.passwd          not running  ineligible  -      -      0
                org.other.passwd           not running  0 of 1      -      -      0

                """)
        let json = try run("list", "--json", on: daemon).output
        #expect(try JSONValue(parsing: json)["apps"] != nil)
    }

    @Test func `list shows the apps that are named, by a pattern, too`() throws {
        let daemon = try FakeDaemon()
        func apps(_ words: String...) throws -> [String] {
            let output = try run(["list"] + words + ["--socket", daemon.server.path]).output
            return output.split(separator: "\n").dropFirst().map {
                String($0.prefix { $0 != " " })
            }
        }
        #expect(try apps("ffmpeg") == ["org.ffmpeg.ffmpeg"])
        #expect(try apps("*.passwd") == ["org.debian.passwd", "org.other.passwd"])
        // A list is not ambiguous.
        #expect(try apps("passwd") == ["org.debian.passwd", "org.other.passwd"])
        #expect(
            try run("list", "x*", on: daemon)
                == Ran(output: "No app matches.\n", complaints: "", code: 0))
        let ran = try run("list", "ffmpg", "org.other.passwd", on: daemon)
        #expect(ran.code == 1 && ran.output.contains("org.other.passwd"))
        #expect(
            ran.complaints == "no app ffmpg is installed; did you mean org.ffmpeg.ffmpeg?\n")
        let json = try JSONValue(parsing: try run("list", "ffmpeg", "--json", on: daemon).output)
        guard case .array(let list)? = json["apps"] else { throw TestError("no list") }
        #expect(list.map { $0["identifier"] } == [.string("org.ffmpeg.ffmpeg")])
    }

    @Test(arguments: ["terminate", "kill"])
    func `a verb that ends an app does not tell how to start it`(verb: String) throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .transition = received.call else { return nil }
            return .fail(ControlError.notRunning(.app("org.ffmpeg.ffmpeg")))
        }
        #expect(
            try run(verb, "ffmpeg", on: daemon)
                == Ran(
                    output: "",
                    complaints: "org.ffmpeg.ffmpeg is not running, so there is nothing to end\n",
                    code: 1))
        #expect(
            try run("suspend", "ffmpeg", on: daemon).complaints
                == "org.ffmpeg.ffmpeg is not running; start it with "
                + "\"greenroomctl launch org.ffmpeg.ffmpeg\"\n")
    }

    @Test func `terminate says how the instance ended and which others run`() throws {
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .transition:
                return .reply([ControlReply.changed(.init(instance: 4, state: .notRunning))])
            case .status(.instance?):
                var ended = Control.InstanceStatus(
                    instance: 4, app: "org.ffmpeg.ffmpeg", state: .notRunning,
                    sinceTimestampUSec: 0)
                ended.exit = .init(reason: .terminated, signal: SIGTERM)
                return .reply([ControlReply.status([ended])])
            case .status:
                let running = Control.InstanceStatus(
                    instance: 5, app: "org.ffmpeg.ffmpeg", state: .background,
                    sinceTimestampUSec: 0)
                return .reply([ControlReply.status([running])])
            case _: return nil
            }
        }
        #expect(
            try run("terminate", "ffmpeg", on: daemon)
                == Ran(output: "instance 4: terminated (SIGTERM)\nstill running: 5\n"))
        #expect(
            try run("suspend", "ffmpeg", on: daemon)
                == Ran(output: "instance 4: terminated (SIGTERM)\n"))
    }

    @Test(arguments: [
        ("/tmp/r/greenroom", "/tmp/r/greenroom/apps"), ("/elsewhere", "/run/greenroom/user-apps"),
        (nil, "/run/greenroom/user-apps"),
    ])
    func `a transient app is in the daemon's runtime directory, wherever that is`(
        own: String?, folder: String
    ) {
        let paths = [
            "/tmp/r/home/.config/greenroom/apps", "/etc/greenroom/user-apps",
            "/tmp/r/greenroom/apps", "/run/greenroom/user-apps",
        ]
        #expect(InstalledManifests.volatileFolder(among: paths, [own, nil]) == folder)
    }

    @Test func `an app that is asked for its version is not asked by an option of run`() {
        let complaint = Greenroomctl.versionComplaint(about: ["run", "git", "--version"])
        #expect(complaint?.hasSuffix(": greenroomctl run git -- --version") == true)
        for words in [
            ["run", "--version"], ["--version"], ["run", "git", "--", "--version"],
            ["list", "x", "--version"],
        ] {
            #expect(Greenroomctl.versionComplaint(about: words) == nil)
        }
    }

    @Test func `the parser gets no words that are for an app`() {
        #expect(CommandWords.own(["run", "git", "--", "-x", "--", "y"]) == ["run", "git"])
        #expect(CommandWords.own(["launch", "git", "file"]) == ["launch", "git", "file"])
        #expect(
            CommandWords.own(["measure", "git", "--", "-x"]) == ["measure", "git", "--", "-x"])
    }

    @Test func `status shows the state of instances and how they ended`() {
        var running = Control.InstanceStatus(
            instance: 4, app: "org.ffmpeg.ffmpeg", state: .active, sinceTimestampUSec: 0)
        running.processId = 4711
        running.kind = .known(.prewarmed)
        running.launchElapsedUSec = 1_234
        running.byteCount = 34 << 20
        var ended = Control.InstanceStatus(
            instance: 3, app: "org.git.git", state: .notRunning, sinceTimestampUSec: 9_000_000)
        ended.kind = .known(.cold)
        ended.coldReason = .known(.environmentMismatch)
        ended.exit = .init(reason: .crashed, signal: SIGSEGV, coreDumped: true)
        let waiting = Control.InstanceStatus(
            instance: 12, app: "org.git.git", state: .prewarmed, sinceTimestampUSec: 0)
        #expect(
            Report.instances([running, ended, waiting], now: 600_000_000) == """
                INSTANCE  APP                STATE                           SINCE   PID   LAUNCH                    MEMORY
                4         org.ffmpeg.ffmpeg  active                          10 min  4711  prewarmed, 1.2 ms         34.0 MiB
                3         org.git.git        crashed (SIGSEGV, core dumped)  9 min   -     cold (other environment)  -
                12        org.git.git        prewarmed                       10 min  -     -                         -

                """)
        #expect(Report.instances([], now: 0) == "No instances.\n")
    }

    @Test func `status of an app shows its manifest, its processes and its log`() {
        var details = AppDetails(app: "org.git.git")
        #expect(Report.details(details) == "")
        details.files = ["/etc/greenroom/apps/org.git.git.app", "/run/git\u{1B}.d/10.conf"]
        details.enablement = "enabled"
        details.processes = [
            (
                4,
                InstanceProcesses(
                    [
                        .init(pid: 71, depth: 0, command: "git daemon"),
                        .init(pid: 72, depth: 1, command: "[git]"),
                    ], cpuUSec: 1_500_000)
            )
        ]
        details.log = ["Nov 26 git[71]: ready"]
        #expect(
            Report.details(details) == """

                org.git.git
                  manifest: /etc/greenroom/apps/org.git.git.app (enabled)
                  drop-in: /run/git\\x1b.d/10.conf
                  processes of instance 4, 1.5 s of processor time:
                    71 git daemon
                      72 [git]
                  journal:
                    Nov 26 git[71]: ready

                """)
        #expect(InstanceProcesses.usage(in: "usage_usec 42\nuser_usec 2\n") == 42)
    }

    @Test func `status finds an instance's cgroup although its process has moved below it`() {
        func path(_ path: String) -> String? {
            InstanceProcesses.path(of: "org.git.git", instance: 4, around: path)
        }
        #expect(path("/greenroom.slice/app-org.git.git-4") == "/greenroom.slice/app-org.git.git-4")
        #expect(path("/app-org.git.git-4/payload/init") == "/app-org.git.git-4")
        #expect(path("/user.slice/session-4.scope") == nil)
        #expect(path("/") == nil)
    }

    @Test func `status does not wait for a journal that is not read, or has no end`() throws {
        let folder = try TemporaryDirectory()
        func text(_ script: String, milliseconds: CInt = 60_000) throws -> String {
            let program = try folder.write("#!/bin/sh\n\(script)\n", to: "journalctl", mode: 0o755)
            return Journal.text(["journalctl"], by: program, milliseconds: milliseconds)
        }
        #expect(try text("echo a line") == "a line\n")
        #expect(try text("echo a line; exit 1") == "")
        #expect(try text("exec sleep 1000", milliseconds: 50) == "")
        #expect(try text("exec >&-; exec sleep 1000", milliseconds: 50) == "")
        #expect(try text("exec yes") == "")
    }

    @Test func `the log is in the user's journal if the daemon is that user's`() throws {
        let folder = try TemporaryDirectory()
        let socket = try folder.write("", to: "control")
        #expect(SocketPath.isUsers(socket) == (getuid() != 0))
        // Root's daemon may have its socket at another place than usual.
        #expect(!SocketPath.isUsers("/"))
    }

    @Test func `status names the features that the daemon lacks`() {
        #expect(Report.degradation([]) == "")
        #expect(
            Report.degradation([.init(code: "no_cgroups", text: "no cgroup is ours")])
                == "degraded: no cgroup is ours\n")
    }

    @Test func `verify names the file that it cannot read`() throws {
        let console = RecordedConsole()
        let verify = try Verify.parse(["/usr", "--socket", "/nowhere"])
        #expect(verify.execute(console) == 2)
        #expect(console.complaints == "/usr is a directory; give the paths of the files in it\n")
    }

    @Test func `verify without a daemon finds what a reload would refuse`() throws {
        let directory = try TemporaryDirectory()
        let texts = [
            "x.gone.app": "[App]\nExec=/nowhere/at/all\n", "x.fine.app": "[App]\nExec=/bin/true\n",
            "x.user.app": "[App]\nExec=/bin/true\nUser=nobody-of-this-name\n",
            "name.txt": "[App]\nExec=/bin/true\n",
            "greenroom.conf": "[Greenroom]\nPrewarmMaxLoad=0\n",
        ]
        for (name, text) in texts { try directory.write(text, to: name) }
        let console = RecordedConsole()
        let paths = texts.keys.sorted().map { "\(directory.path)/\($0)" }
        let verify = try Verify.parse(paths + ["--socket", "/nowhere"])
        #expect(verify.execute(console) == 2)
        let good = console.output.split(separator: "\n").map { $0.split(separator: "/").last! }
        #expect(good == ["greenroom.conf: good", "x.fine.app: x.fine: good"])
        for name in ["x.gone.app: ", "x.user.app: ", "name.txt: "] {
            #expect(console.complaints.contains("\(directory.path)/\(name)"), "\(name)")
        }
        try directory.write("[Greenroom]\nPrewarmBudget=much\n", to: "greenroom.conf")
        let conf = "\(directory.path)/greenroom.conf"
        #expect(try Verify.parse([conf, "--socket", "/nowhere"]).execute(console) == 2)
        #expect(console.complaints.contains("\(conf):2:"))
        try directory.write(
            "[Greenroom]\nControlGroups=root nogroup-of-this-name\n", to: "greenroom.conf")
        #expect(try Verify.parse([conf, "--socket", "/nowhere"]).execute(console) == 0)
        #expect(
            console.complaints.hasSuffix(
                "\(conf): warning: ControlGroups=nogroup-of-this-name: no such group\n"))
    }

    /// The verb runs in separate processes, because it could wait for ever.
    @Test func `verify waits for no pipe and no device`() throws {
        let result = PythonClient.shell(
            """
            cd "$(mktemp -d)"; mkfifo pipe.app
            for file in pipe.app /dev/zero /dev/null; do
                timeout 20 \(`greenroomctl run`.program) verify --socket /nowhere $file 2>&1; echo $?
            done
            """)
        let remedy = "give the path of a file ID.app; write what a program prints to a file first"
        #expect(
            result.output == """
                greenroomctl: pipe.app is a pipe, a socket or a device, not a file; \(remedy)
                2
                greenroomctl: /dev/zero is a device or a link to one, not a file; \(remedy)
                2
                greenroomctl: /dev/null is a device or a link to one, not a file; \(remedy)
                2

                """)
    }

    @Test func `a service file of the message bus is not read from a pipe`() throws {
        let result = PythonClient.shell(
            """
            cd "$(mktemp -d)"; mkfifo org.example.app.service
            timeout 20 \(`greenroomctl run`.program) dbus-service org.example.app --remove \
            --directory . 2>&1; echo $?
            """)
        #expect(
            result.output == """
                greenroomctl: ./org.example.app.service is in the way; move it elsewhere first
                1

                """)
    }

    @Test(arguments: [
        (#"/usr/bin/view --dbus"#, true), (#"/usr/bin/view 'a\b'"#, false),
        (#"/usr/bin/view 'a\\nb'"#, false),
    ])
    func `a service file has the command of another one only if each bus can read it`(
        command: String, isKept: Bool
    ) throws {
        let folder = try TemporaryDirectory()
        for path in ["/dbus-1", "/dbus-1/services"] { mkdir(folder.path + path, 0o755) }
        try folder.write(
            "[D-BUS Service]\nName=org.example.view\nExec=\(command)\n",
            to: "dbus-1/services/org.example.view.service")
        let daemon = try FakeDaemon { received, _ in
            guard case .list = received.call else { return nil }
            var app = Control.AppSummary(identifier: "org.example.view")
            app.desktop = Control.DesktopFacts(file: "/x.desktop")
            app.desktop?.isDBusActivatable = true
            return .reply([ControlReply.listed([app])])
        }
        let result = PythonClient.shell(
            """
            XDG_DATA_DIRS=\(folder.path) \(`greenroomctl run`.program) dbus-service org.example.view \
            --socket \(daemon.server.path) 2>&1
            """)
        #expect(result.output.contains("/usr/bin/view") == isKept)
        #expect(result.output.contains("is not kept") == !isKept)
    }

    @Test(arguments: [
        (["--json", "list"], ["list", "--json"]),
        (
            ["--user", "-l", "--color=never", "status", "x"],
            ["status", "--user", "-l", "--color=never", "x"]
        ),
        (["--socket", "/x", "run", "y", "--", "-i"], ["run", "--socket", "/x", "y", "--", "-i"]),
        (["--system"], ["--system"]), (["--version", "list"], ["--version", "list"]),
        (["---completion", "list", "--"], ["---completion", "list", "--"]),
        (["list", "--json"], ["list", "--json"]), ([], []),
    ]) func `options that every verb has may stand before it`(words: [String], meant: [String]) {
        #expect(Greenroomctl.arranged(words) == meant)
    }

    @Test func `another option before the verb is refused, except for completions`() {
        let complaint = Greenroomctl.complaint(about: ["--wait", "launch", "x"])
        #expect(complaint == "--wait comes after the verb: greenroomctl launch … --wait …")
        #expect(Greenroomctl.complaint(about: ["---completion", "list", "--"]) == nil)
        #expect(Greenroomctl.complaint(about: ["--version", "list"]) == nil)
    }

    @Test func `help of an app's name says that it is no verb`() {
        let complaint = Greenroomctl.complaint(about: ["help", "ffmpeg"])
        #expect(complaint?.hasPrefix("there is no verb ffmpeg; ") == true)
        #expect(Greenroomctl.complaint(about: ["help", "run"]) == nil)
        #expect(Greenroomctl.complaint(about: ["help"]) == nil)
    }

    @Test func `a socket and a daemon's owner exclude each other`() throws {
        let daemon = try #require(try Greenroomctl.parseAsRoot(["list", "--system"]) as? List)
            .daemon
        #expect(daemon.path == SocketPath.system)
        #expect(throws: (any Error).self) {
            try Greenroomctl.parseAsRoot(["list", "--system", "--socket", "/x"])
        }
        #expect(throws: (any Error).self) {
            try Greenroomctl.parseAsRoot(["list", "--system", "--user"])
        }
    }

    @Test func `a usage error with a hint has lines`() throws {
        let program = `greenroomctl run`.program
        let result = PythonClient.shell("\(program) run clock 1; echo $?")
        let lines = result.output.split(separator: "\n")
        #expect(!result.output.contains("\\n"), "\(result.output)")
        #expect(lines.dropFirst().first?.hasPrefix("Usage: ") == true)
        #expect(lines.suffix(2).first?.hasSuffix(": greenroomctl run clock -- 1") == true)
        #expect(lines.last == "64")
    }

    @Test(arguments: [
        ("Unexpected argument 'a b'", ["run", "vim", "a b"], "run vim -- a b"),
        ("Unknown option '-l'", ["launch", "ls", "--wait", "-l"], "launch ls --wait -- -l"),
        (
            "2 unexpected arguments: 'x', 'y'", ["run", "ls", "--env", "A=b", "x", "y"],
            "run ls --env A=b -- x y"
        ),
    ]) func `a hint shows where the app's own arguments belong`(
        complaint: String, words: [String], line: String
    ) {
        #expect(
            Greenroomctl.hint(for: complaint, words)?.hasSuffix(": greenroomctl \(line)") == true)
    }

    @Test(arguments: [
        ("Unknown option '-l'", ["list", "x", "-l"]), ("Unknown option '-l'", ["run", "-l"]),
        ("Missing expected argument '<app>'", ["run"]),
    ]) func `no hint is shown for another mistake`(complaint: String, words: [String]) {
        #expect(Greenroomctl.hint(for: complaint, words) == nil)
    }

    @Test func `launch says how it went`() throws {
        let daemon = try FakeDaemon()
        #expect(
            try run("launch", "ffmpeg", "--background", "--", "-i", on: daemon)
                == Ran(
                    output: "org.ffmpeg.ffmpeg: instance 4, process 4711: "
                        + "cold (none was ready), 12.3 ms\n"))
        guard case .launch(let launch) = daemon.received.last?.call else {
            Issue.record("no launch")
            return
        }
        #expect(launch.app == "org.ffmpeg.ffmpeg")
        #expect(launch.arguments == ["-i"])
        #expect(launch.isBackground && !launch.isAttached)
        #expect(launch.callerEnvironment == nil)
    }

    @Test func `launch waits for the end if it is told to`() throws {
        let ran = try run("launch", "org.ffmpeg.ffmpeg", "--wait", on: FakeDaemon())
        #expect(ran == Ran(output: "", code: 7))
    }

    @Test func `a verb that moves an instance says its new state`() throws {
        let daemon = try FakeDaemon()
        #expect(
            try run("suspend", "ffmpeg", on: daemon)
                == Ran(output: "instance 4: suspended\n"))
        #expect(
            try run("kill", "--instance", "9", "--json", on: daemon)
                == Ran(output: #"{"instance":4,"state":"suspended"}"# + "\n"))
        let calls = daemon.received.map(\.call)
        #expect(calls.contains(.transition(.suspend, .app("org.ffmpeg.ffmpeg"))))
        #expect(calls.contains(.transition(.kill, .instance(9))))
    }

    @Test(arguments: [
        (["stop", "a.b"], "terminate"),
        (["freeze", "a.b"], "suspend"),
        (["thaw", "a.b"], "resume"), (["daemon-reload"], "reload"), (["show", "a.b"], "explain"),
    ]) func `the verbs of systemctl mean ours`(words: [String], verb: String) throws {
        #expect(Greenroomctl.complaint(about: words) == nil)
        #expect(type(of: try Greenroomctl.parseAsRoot(words))._commandName == verb)
    }

    @Test func `several apps and patterns are served, and a failure is told beside the others`()
        throws
    {
        let daemon = try FakeDaemon { received, _ in
            guard case .transition(_, .app("org.debian.passwd")) = received.call else { return nil }
            return .fail(ControlError.notRunning(.app("org.debian.passwd")))
        }
        let several = try run(
            "stop", "org.debian.passwd", "ffmpeg", "org.other.passwd", on: daemon)
        #expect(several.output == "instance 4: suspended\ninstance 4: suspended\n")
        #expect(
            several.complaints.hasPrefix("org.debian.passwd is not running") && several.code == 1)
        // One of the apps that the pattern matches runs.
        #expect(try run("stop", "org.*", on: daemon) == Ran(output: "instance 4: suspended\n"))
        #expect(try run("stop", "nothing*", on: daemon) == Ran(output: ""))
        #expect(
            daemon.received.last { if case .transition = $0.call { true } else { false } }?.call
                == .transition(.terminate, .app("org.ffmpeg.ffmpeg")))
    }

    @Test func `start launches each app, where launch takes the second word for a file`() throws {
        let daemon = try FakeDaemon()
        #expect(try run("start", "org.debian.passwd", "ffmpeg", on: daemon).code == 0)
        #expect(try run("launch", "org.debian.passwd", "ffmpeg", on: daemon).code == 0)
        let launches = daemon.received.compactMap { received in
            if case .launch(let launch) = received.call { launch } else { nil }
        }
        #expect(
            launches.map(\.app) == ["org.debian.passwd", "org.ffmpeg.ffmpeg", "org.debian.passwd"])
        #expect(launches.map(\.arguments.count) == [0, 0, 1])
    }

    private static func instances(_ states: Control.ExecutionState...) -> ControlReply {
        .status(
            states.enumerated().map {
                Control.InstanceStatus(
                    instance: UInt64(3 + $0), app: "org.ffmpeg.ffmpeg", state: $1,
                    sinceTimestampUSec: 0)
            })
    }

    @Test(arguments: ["TERM", "SIGTERM", "15"])
    func `kill sends a signal to each running instance`(word: String) throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .status = received.call else { return nil }
            return .reply([Self.instances(.active, .prewarmed, .background)])
        }
        #expect(try run("kill", "-s", word, "ffmpeg", on: daemon) == Ran(output: ""))
        let signals = daemon.received.map(\.call).filter {
            if case .signal = $0 { true } else { false }
        }
        #expect(signals == [.signal(instance: 3, signal: 15), .signal(instance: 5, signal: 15)])
        #expect(throws: (any Error).self) {
            try Greenroomctl.parseAsRoot(["kill", "-s", "X", "a"])
        }
    }

    @Test func `is-active and restart look at what runs`() throws {
        let daemon = try FakeDaemon { received, count in
            switch received.call {
            case .status: .reply([Self.instances(count < 2 ? .prewarmed : .background)])
            case .explain(let app):
                .reply([ControlReply.explained(.init(app: app, isEligible: true))])
            case _: nil
            }
        }
        #expect(try run("is-active", "ffmpeg", on: daemon) == Ran(output: "inactive\n", code: 3))
        #expect(try run("is-active", "ffmpeg", on: daemon) == Ran(output: "active\n"))
        #expect(try run("restart", "ffmpeg", on: daemon).code == 0)
        let calls = daemon.received.map(\.call)
        #expect(calls.contains(.transition(.terminate, .instance(3))))
        guard case .launch(let launch) = calls.last else { throw TestError("no launch") }
        #expect(launch.isBackground && launch.app == "org.ffmpeg.ffmpeg")
    }

    @Test func `prewarm names the instances`() throws {
        #expect(
            try run("prewarm", "ffmpeg", "--count", "2", on: FakeDaemon()).output == """
                org.ffmpeg.ffmpeg: instance 7: prewarmed
                org.ffmpeg.ffmpeg: instance 8: prewarmed

                """)
    }

    @Test func `watch prints events until the daemon goes`() throws {
        setenv("TZ", "UTC", 1)
        var moved = Control.Event(
            sequence: 1, timestampUSec: 43_384_123_456, kind: .stateChanged, app: "a.b",
            instance: 4)
        moved.from = .known(.active)
        moved.to = .known(.background)
        var ended = Control.Event(
            sequence: 4, timestampUSec: 43_385_000_000, kind: .exited, app: "a.b", instance: 4,
            text: "bye")
        ended.exit = .init(reason: .exitedSelf, status: 0)
        let events = [moved, ended]
        let daemon = try FakeDaemon { _, _ in
            .reply(
                [ControlReply.watching(latest: 0)] + events.map { ControlReply.watched($0) }
                    + [ControlReply.watched(nil)])
        }
        let console = RecordedConsole()
        let client = try ControlClient(path: daemon.server.path)
        try client.send(.watch())
        while client.isWaiting {
            guard case .watched(let event?) = try client.reply(to: .watch()) else { continue }
            console.write(Report.event(event))
        }
        #expect(
            console.output == """
                12:03:04.123  a.b 4  active -> background
                12:03:05.000  a.b 4  exited (status 0): bye

                """)
    }

    @Test(arguments: [
        (["directory", "umask"], "caller's directory, umask"),
        ([], "caller's directory, umask, limits or descriptors"),
    ])
    func `explain names what of the caller's state differed`(state: [String], words: String) {
        var explanation = Control.Explanation(app: "org.x.view", isEligible: true)
        explanation.lastLaunch = .init(
            instance: 4, kind: .cold, coldReason: .callerState, elapsedUSec: 0, timestampUSec: 0)
        explanation.lastLaunch?.differingState = state
        #expect(Report.explanation(explanation).contains("instance 4, cold (\(words))\n"))
    }

    @Test func `explain gives the reasons`() {
        var explanation = Control.Explanation(app: "org.debian.passwd", isEligible: false)
        explanation.reasons = [.init(code: "setuid", text: "/usr/bin/passwd is setuid")]
        explanation.lastLaunch = .init(
            instance: 4, kind: .cold, coldReason: .ineligible, elapsedUSec: 2_000_000,
            timestampUSec: 0)
        #expect(
            Report.explanation(explanation) == """
                org.debian.passwd
                  can be prewarmed: no
                  prewarmed: 0 of 0
                  last launch: instance 4, cold (cannot be prewarmed), 2.0 s
                  - /usr/bin/passwd is setuid

                """)
    }

    @Test func `explain tells when the depth has changed`() throws {
        func pause(
            _ time: Int64, _ depth: Control.PrewarmDepth?, _ kind: Control.LaunchKind?
        ) -> Control.PauseRecord {
            var record = Control.PauseRecord(
                app: "a.b", userId: 0, instance: 1, pausedTimestampUSec: time * 1_000_000,
                untilTimestampUSec: (time + 1) * 1_000_000, byteCount: 0)
            (record.depth, record.kind) = (depth.map { .known($0) }, kind.map { .known($0) })
            return record
        }
        let pauses = [
            pause(40, .main, nil), pause(30, .runtime, .startedAnew),
            pause(20, .runtime, .prewarmed), pause(15, nil, nil), pause(10, .main, .prewarmed),
        ]
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .explain(let app):
                .reply([ControlReply.explained(.init(app: app, isEligible: true))])
            case .pauseHistory(let query) where query.apps == ["org.ffmpeg.ffmpeg"]:
                .reply([ControlReply.pauseHistory(.init(pauses))])
            case _: nil
            }
        }
        let ran = try run("explain", "ffmpeg", on: daemon)
        func time(_ seconds: Int64) -> String { Phrase.dateAndTime(uSec: seconds * 1_000_000) }
        #expect(
            ran.output == """
                org.ffmpeg.ffmpeg
                  can be prewarmed: yes
                  prewarmed: 0 of 0
                  last launch: none
                  its instances were paused:
                    since \(time(10)) before main (1, of which 1 was launched)
                    since \(time(20)) after its interpreter's boot (2, of which 2 were launched)
                    since \(time(40)) before main (1, of which 0 were launched)

                """)
        // A depth that was always the same has no story.
        #expect(DepthStory([pause(1, .main, nil), pause(2, .main, nil)]).chapters.isEmpty)
        let many = (1...9).map { pause($0, $0 % 2 == 0 ? .main : .runtime, nil) }
        #expect(DepthStory(many).chapters.map(\.since) == [6, 7, 8, 9].map { $0 * 1_000_000 })
    }

    @Test func `reload reports bad files and fails`() throws {
        let fault = Control.ManifestFault(file: "/a.app", line: 3, column: 7, message: "what?")
        let daemon = try FakeDaemon { _, _ in
            .reply([ControlReply.reloaded(.init(loaded: ["a.b"], failed: [fault]))])
        }
        #expect(
            try run("reload", on: daemon)
                == Ran(output: "1 app installed\n", complaints: "/a.app:3:7: what?\n", code: 1))
    }

    @Test(
        arguments: [
            (["launch", "ffmpg"], 1, "no app ffmpg is installed; did you mean org.ffmpeg.ffmpeg?"),
            (["run", "ffmpg"], 127, "no app ffmpg is installed; did you mean org.ffmpeg.ffmpeg?"),
            (
                ["explain", "passwd"], 1,
                "several apps are called passwd: org.debian.passwd, org.other.passwd; "
                    + "name one in full"
            ),
            (
                ["terminate", "42"], 1,
                "no app 42 is installed; an instance is named with --instance 42"
            ),
            (
                ["open", "/nowhere.txt"], 1,
                "opening /nowhere.txt: no such file or directory (ENOENT)"
            ),
            (["explain", "a.b"], 1, "the daemon is shutting down; try again when it is back"),
            (
                ["launch", "x.y", "--wait"], 127,
                "no app x.y is installed; \"greenroomctl list\" shows all that are"
            ),
        ] as [([String], Int32, String)])
    func `a verb that fails says what to do`(words: [String], code: Int32, complaint: String) throws
    {
        let daemon = try FakeDaemon()
        #expect(
            try run(words + ["--socket", daemon.server.path])
                == Ran(output: "", complaints: complaint + "\n", code: code))
    }

    @Test func `a verb without a daemon says how to start one`() throws {
        let ran = try run(["list", "--socket", "/nonexistent/control"])
        #expect(ran.code == 69)
        #expect(ran.complaints.hasPrefix("greenroomd is not running: nobody listens at /nonexist"))
        #expect(try run(["run", "a.b", "--socket", "/nonexistent/control"]).code == 125)
    }

    private static let executing = "executing the program"

    @Test(
        arguments: [
            (.control(.permissionDenied(needed: "x")), 77, 125),
            (.service(.permissionDenied), 77, 125),
            (.unreachable(path: "", .init(code: EACCES, call: "connect")), 77, 125),
            (.disconnected, 69, 125),
            (.control(.spawnFailed(stage: executing, errno: EACCES, reason: "")), 1, 126),
            (.control(.spawnFailed(stage: executing, errno: ENOEXEC, reason: "")), 1, 126),
            (.control(.spawnFailed(stage: executing, errno: ENOENT, reason: "")), 1, 127),
            // The error is not about the program.
            (
                .control(
                    .spawnFailed(
                        stage: "entering the working directory", errno: ENOENT, reason: "")),
                1, 125
            ),
            (.control(.backOff(app: "", retryAfterUSec: 0, isCrashLooping: true)), 1, 125),
        ] as [(Failure, Int32, Int32)])
    func `a verb that fails has the documented exit status`(
        failure: Failure, code: Int32, attached: Int32
    ) {
        #expect(failure.exitCode == code)
        #expect(failure.attachedExitCode == attached)
    }
}
