import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Manifests are added, removed and made invalid while the daemon runs.
@Suite struct ManifestTests {
    private static let good = "org.example.good"

    @Test func `a bad manifest is reported and leaves the good ones alone`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.good, exec: program))
        try daemon.directory.write("[App]\nExec=\n", to: "apps/org.example.empty.app")
        try daemon.directory.write(
            "[App]\nExec=/bin/true\nUMask=9\n", to: "apps/org.example.mask.app")
        try daemon.directory.write("\u{0}\u{1}", to: "apps/org.example.noise.app")
        let client = try daemon.client()
        let report = try client.reload()
        #expect(report.loaded == [Self.good])
        let faults = Set(report.failed.map(\.file))
        #expect(
            faults
                == Set(
                    ["empty", "mask", "noise"].map {
                        "\(daemon.appDirectory)/org.example.\($0).app"
                    }))
        let mask = report.failed.first { $0.file.hasSuffix("mask.app") }
        #expect(mask?.line == 3)
        #expect(try client.list().map(\.identifier) == [Self.good])
        #expect(try client.run(Self.good, ["exit", "2"]).exit.status == 2)
    }

    @Test func `good manifests work if there are bad ones at the start`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.good, exec: program), TestApp("org.example.bad", exec: "relative/path"))
        let client = try daemon.client()
        #expect(try client.list().map(\.identifier) == [Self.good])
        #expect(daemon.log.contains("org.example.bad.app:2:"))
    }

    @Test func `manifests that are added and removed take effect on SIGHUP`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.good, exec: program))
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let late = "org.example.late"
        try daemon.install(TestApp(late, exec: program, prewarm: 1))
        daemon.signal(SIGHUP)
        try watcher.next { $0.kind == .appsChanged }
        #expect(try client.list().map(\.identifier) == [Self.good, late])
        try daemon.awaitPaused(late)
        let running = try client.start(late)
        let paused = try #require(try daemon.awaitPaused(late).first)
        unlink("\(daemon.appDirectory)/\(late).app")
        daemon.signal(SIGHUP)
        try watcher.next { $0.kind == .appsChanged }
        #expect(try client.list().map(\.identifier) == [Self.good])
        try Processes.awaitEnd(of: paused.processId ?? 0)
        // A running instance goes on, and can be ended.
        #expect(Processes.isAlive(running.pid))
        #expect(try client.change(.terminate, running.instance) == .notRunning)
    }

    @Test func `an app whose manifest becomes invalid is gone until it is corrected`() throws {
        let program = try compileProbe("behave.c")
        let app = TestApp(Self.good, exec: program, prewarm: 1)
        let daemon = try TestDaemon(app)
        let client = try daemon.client()
        try daemon.awaitPaused(Self.good)
        let running = try client.start(Self.good)
        let paused = try #require(try daemon.awaitPaused(Self.good).first)
        try daemon.directory.write("[App]\nExec=relative/x\n", to: "apps/\(Self.good).app")
        let report = try client.reload()
        #expect(report.failed.map(\.line) == [2])
        #expect(report.loaded == [])
        #expect(try client.list() == [])
        try Processes.awaitEnd(of: paused.processId ?? 0)
        #expect(Processes.isAlive(running.pid))
        try daemon.install(app)
        #expect(try client.reload().loaded == [Self.good])
        try daemon.awaitPaused(Self.good)
        #expect(try client.change(.terminate, running.instance) == .notRunning)
    }

    @Test func `an unknown app is refused with a suggestion`() throws {
        let daemon = try TestDaemon(TestApp(Self.good, exec: "/bin/true"))
        let client = try daemon.client()
        #expect(throws: ControlError.noSuchApp("org.example.goood", suggestion: Self.good)) {
            try client.launch("org.example.goood")
        }
        #expect(throws: ControlError.noSuchApp("net.nothing.zzzzzzzz", suggestion: nil)) {
            try client.explain("net.nothing.zzzzzzzz")
        }
    }

    @Test func `apps that were refused or masked are remembered with the reason`() throws {
        let daemon = try TestDaemon(TestApp(Self.good, exec: try compileProbe("behave.c")))
        try daemon.directory.write(
            "[App]\nExec=/nowhere/at/all\n", to: "apps/org.example.gone.app")
        try daemon.directory.write(
            "[App]\nExec=/bin/true\nUMask=9\n", to: "apps/org.example.bad.app")
        symlink("/dev/null", daemon.appDirectory + "/org.example.masked.app")
        let client = try daemon.client()
        _ = try client.reload()
        guard case .listed(let all) = try client.call(.listAll) else { throw TestError("a reply") }
        let reasons = Dictionary(
            uniqueKeysWithValues: all.map { ($0.identifier, $0.refusal?.text) })
        let folder = daemon.appDirectory
        #expect(reasons.count == 4 && reasons[Self.good] == .some(nil))
        #expect(reasons["org.example.masked"] == "masked by \(folder)/org.example.masked.app")
        #expect(
            reasons["org.example.bad"]??.hasPrefix(
                "refused because \(folder)/org.example.bad.app:3:") == true)
        #expect(
            reasons["org.example.gone"]??.hasPrefix(
                "refused because \(folder)/org.example.gone.app: ") == true)
        for (name, code) in [
            ("org.example.masked", "masked"), ("org.example.gone", "manifest_refused"),
        ] {
            let reason = "\(name) is not installed: \(try #require(reasons[name] ?? nil))"
            #expect(throws: ControlError.refused(code: code, reason: reason)) {
                try client.launch(name)
            }
            #expect(throws: ControlError.refused(code: code, reason: reason)) {
                try client.call(.status(.app(name)))
            }
        }
        unlink(folder + "/org.example.gone.app")
        _ = try client.reload()
        #expect(
            throws: ControlError.noSuchApp("org.example.gone", suggestion: Self.good)
        ) { try client.launch("org.example.gone") }
    }

    /// A check refuses exactly what a reload refuses, in the same words.
    @Test func `a check of manifests agrees with a reload`() throws {
        let daemon = try TestDaemon(TestApp(Self.good, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        try daemon.directory.write("", to: "not-a-program")
        let texts = [
            "missing": "Exec=/nowhere/at/all", "folder": "Exec=/etc",
            "text": "Exec=\(daemon.directory.path)/not-a-program",
            "user": "Exec=/bin/true\nUser=nobody-of-this-name",
            "group": "Exec=/bin/true\nGroup=nogroup-of-this-name",
            "itself": "Exec=/bin/true\nAfter=org.example.itself",
            "filter": "Exec=/bin/true\n[Sandbox]\nSystemCallFilter=@system-service",
            "unknown": "Exec=/bin/true\n[Sandbox]\nSystemCallFilter=no_such_call",
            "socket": "Exec=/bin/true\n[Socket]\nListenStream=/proc/nowhere/at/all/socket",
            "port": "Exec=/bin/true\n[Socket]\nListenStream=127.0.0.1:1",
            "listener": "Exec=/bin/true\n[Socket]\nListenStream=\(daemon.directory.path)/s",
            "fine": "Exec=/bin/true",
            "same": "Exec=/bin/true\nIdentifier=\(Self.good)",
        ]
        for (word, lines) in texts.sorted(by: { $0.key < $1.key }) {
            let file = "\(daemon.appDirectory)/org.example.\(word).app"
            let text = "[App]\n\(lines)\n"
            let draft = Control.ManifestDraft(
                name: "org.example.\(word).app", sources: [.init(file: file, text: text)])
            guard case .verified(let checked) = try client.call(.verify([draft])) else {
                throw TestError("another reply")
            }
            try daemon.directory.write(text, to: "apps/org.example.\(word).app")
            let failed = try client.reload().failed
            #expect(checked == failed, "\(word)")
            if ["missing", "folder", "user", "group", "socket"].contains(word) {
                #expect(!checked.isEmpty, "\(word)")
            }
            if ["fine", "listener"].contains(word) { #expect(checked.isEmpty, "\(checked)") }
            unlink(file)
            _ = try client.reload()
        }
    }

    /// A shell command that makes `x.app` and its other files, and whether a reload accepts it.
    private static let files: [(command: String, isGood: Bool)] = [
        (": >x.app", true), ("ln -s /dev/null x.app", true),
        ("{ printf '\\357\\273\\277'; cat good; } >x.app", true),
        ("mkfifo x.app", false), ("ln -s nowhere x.app", false), ("mkdir x.app", false),
        ("cp good x.app; chmod o+w x.app", false),
        ("cp good x.app; chown 65534 x.app", false),
        (
            "cp good x.app; mkdir x.app.d; printf '[App]\\nUser=nobody-of-this-name\\n' >x.app.d/u.conf",
            false
        ),
        (
            "cp good x.app; mkdir x.app.d; printf '[App]\\nUMask=022\\n' >x.app.d/u.conf; "
                + "chmod o+w x.app.d/u.conf", false
        ),
    ]

    @Test(arguments: files.indices)
    func `verify reports on installed files as a reload does, and a refusal is remembered`(
        index: Int
    ) throws {
        try requireOrSkip(getuid() == 0, "only root can give files away")
        let (command, isGood) = Self.files[index]
        let daemon = try TestDaemon(TestApp(Self.good, exec: "/bin/true"))
        let client = try daemon.client()
        let name = "org.example.file"
        let script = """
            cd \(daemon.appDirectory); printf '[App]\\nExec=/bin/true\\n' >good
            \(command.replacing("x.app", with: name + ".app"))
            timeout 20 \(try Programs.client) verify --socket \(daemon.socketPath) \(name).app
            """
        let result = try TestSupport.run(
            ChildRequest("/bin/sh", arguments: ["sh", "-c", script]), mergingErrors: true)
        let text = String(decoding: result.output, as: UTF8.self)
        #expect(result.exit == .status(isGood ? 0 : 2), "\(text)")
        let failed = try client.reload().failed
        #expect(failed.isEmpty == isGood, "\(failed)")
        guard !isGood, case .listed(let all) = try client.call(.listAll) else { return }
        let refusal = all.first { $0.identifier == name }?.refusal
        #expect(refusal?.code == "manifest_refused", "\(all)")
        // The words are the same, apart from advice.
        let message = try #require(failed.first?.message)
        #expect(text.contains(message), "\(message): \(text)")
    }

    @Test func `a check of manifests finds a fault that two of them have together`() throws {
        let daemon = try TestDaemon(TestApp(Self.good, exec: "/bin/true"))
        let folder = daemon.directory.path
        var texts: [String: String] = [:]
        for number in 1...20 { texts["org.example.a\(number)"] = "" }
        texts["org.example.a1"] = "[Socket]\nListenStream=\(folder)/socket\n"
        texts["org.example.a10"] = texts["org.example.a1"]
        texts["org.example.a2"] = "[Dependencies]\nAfter=org.example.a9\n"
        texts["org.example.a9"] = "[Dependencies]\nAfter=org.example.a2\n"
        texts["org.example.a8"] = "[Sandbox]\nSystemCallFilter=no_such_call\n"
        for (name, text) in texts {
            try daemon.directory.write("[App]\nExec=/bin/true\n\(text)", to: "\(name).app")
        }
        let script =
            "cd \(folder); \(try Programs.client) verify --socket \(daemon.socketPath) *.app"
        let result = try TestSupport.run(
            ChildRequest("/bin/sh", arguments: ["sh", "-c", script]), mergingErrors: true)
        let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
        #expect(result.exit == .status(2))
        let good = lines.filter { $0.hasSuffix(": good") }.count
        #expect(good == 16, "\(lines)")
        for word in ["a2", "a9", "a8", "a10"] {
            #expect(
                lines.count { $0.hasPrefix("org.example.\(word).app:") } == 1, "\(word): \(lines)")
        }
    }

    @Test func `the name of a template leads to its instances`() throws {
        let daemon = try TestDaemon(TestApp(Self.good, exec: "/bin/true"))
        try daemon.directory.write("[App]\nExec=/bin/true\n", to: "apps/org.example.one@.app")
        let client = try daemon.client()
        _ = try client.reload()
        for name in ["org.example.one", "org.example.one@"] {
            #expect(
                throws: ControlError.noSuchApp(name, suggestion: "org.example.one@INSTANCE")
            ) { try client.launch(name) }
        }
    }
}
