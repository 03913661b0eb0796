import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `org.freedesktop.Application`, called by common programs on the test's own bus.
@Suite struct `Apps on the message bus` {
    private static let app = "org.example.kit"

    private func kit(prewarm: Int) throws -> KitDaemon {
        var app = KitApp(Self.app, prewarm: prewarm)
        app.application = ["URLSchemes=probe", "QuickActions=new"]
        return try KitDaemon(app)
    }

    @Test(arguments: KitApp.starts)
    func `calls launch an SDK app, open URLs with it and perform its quick actions`(
        prewarm: Int
    ) throws {
        let kit = try kit(prewarm: prewarm)
        let bus = try SessionBus(for: kit.daemon)
        defer { bus.end() }
        try bus.install(Self.app)
        // Nothing waits for a call.
        #expect(bus.helpers.isEmpty)
        try bus.ask(Self.app, "Open", "['probe:one']", "{}")
        let client = try kit.daemon.client()
        let instance = try #require(
            try client.instances(of: Self.app).first { $0.kind != nil })
        #expect(instance.kind == (prewarm > 0 ? .prewarmed : .cold))
        try kit.daemon.awaitState(.active, of: instance.instance)
        try bus.ask(Self.app, "ActivateAction", "new", "[]", "{}")
        try client.change(.background, instance.instance)
        try bus.ask(Self.app, "Activate", "{'activation-token': <'t'>, 'number': <uint32 4>}")
        try kit.daemon.awaitState(.active, of: instance.instance)
        try bus.ask(Self.app, "Open", "['probe:two', 'probe:three']", "{}")
        try client.change(.terminate, instance.instance)
        let said = kit.app.said(try #require(instance.processId), in: kit.daemon)
        let wanted = said.filter { $0.hasPrefix("open ") || $0.hasPrefix("performAction") }
        #expect(
            wanted == [
                "open probe:one from - inactive", "performAction new",
                "open probe:two from - active",
                "open probe:three from - active",
            ])
    }

    @Test func `an installed app can be called at once, even if the folder is new`() throws {
        let kit = try kit(prewarm: 0)
        let bus = try SessionBus(for: kit.daemon)
        defer { bus.end() }
        // The bus already knows the name from the distribution's file.
        try bus.directory.write(
            "[D-BUS Service]\nName=\(Self.app)\nExec=/bin/false\n",
            to: "vendor/\(Self.app).service")
        #expect(throws: TestError.self) { try bus.ask(Self.app, "Activate", "{}") }
        rmdir(bus.services)
        try bus.install(Self.app)
        try bus.ask(Self.app, "Activate", "{}")
        #expect(try kit.daemon.client().instances(of: Self.app).count == 1)
    }

    @Test func `a refused request is an error of the call, with its reason`() throws {
        let kit = try kit(prewarm: 0)
        let bus = try SessionBus(for: kit.daemon)
        defer { bus.end() }
        try bus.install(Self.app)
        let path = "/org/example/kit"
        let name = "org.freedesktop.Application."
        let tooMany = Array(repeating: "'probe:one'", count: 65).joined(separator: ", ")
        for (method, arguments, reason) in [
            ("ActivateAction", ["old", "[]", "{}"], "QuickActions=old"),
            ("ActivateAction", ["new", "[<1>]", "{}"], "quick actions take no parameter"),
            ("Open", ["['other:one']", "{}"], "other:one"),
            ("Open", ["[\(tooMany)]", "{}"], "URIs to open at once"),
        ] {
            let (isDone, text) =
                arguments.count == 3
                ? try bus.call(
                    Self.app, path, name + method, arguments[0], arguments[1], arguments[2])
                : try bus.call(Self.app, path, name + method, arguments[0], arguments[1])
            #expect(!isDone && text.contains(reason), "\(text)")
        }
        let elsewhere = try bus.call(Self.app, "/else/where", name + "Activate", "{}").text
        #expect(elsewhere.contains("one object, /org/example/kit"), "\(elsewhere)")
        let unknown = try bus.call(Self.app, path, name + "Explode", "{}").text
        #expect(unknown.contains("UnknownMethod"), "\(unknown)")
        // None of these calls launched anything.
        #expect(try kit.daemon.client().instances(of: Self.app).isEmpty)
        try kit.daemon.kill()
        let text = try bus.call(Self.app, path, name + "Activate", "{}").text
        #expect(text.contains("greenroomd"), "\(text)")
        try kit.daemon.start()
        try bus.ask(Self.app, "Activate", "{}")
    }

    @Test func `busctl and dbus-send find the app's name, which is given up when nobody calls`()
        throws
    {
        let kit = try kit(prewarm: 0)
        let bus = try SessionBus(for: kit.daemon)
        defer { bus.end() }
        try bus.install(Self.app)
        guard let busctl = findProgram("busctl"), let send = findProgram("dbus-send") else {
            return try requireOrSkip(false, "there is no busctl or no dbus-send")
        }
        let tree = try run(
            ChildRequest(
                busctl,
                arguments: [
                    busctl, "--address=\(bus.address)", "introspect", Self.app, "/org/example/kit",
                ]), mergingErrors: true)
        let text = String(decoding: tree.output, as: UTF8.self)
        #expect(text.contains("org.freedesktop.Application") && text.contains("asa{sv}"), "\(text)")
        // The name may have been given up already.
        let helper = bus.helpers.first
        let sent = try run(
            ChildRequest(
                send,
                arguments: [
                    send, "--bus=\(bus.address)", "--print-reply", "--dest=\(Self.app)",
                    "/org/example/kit", "org.freedesktop.Application.Activate",
                    "dict:string:string:",
                ]), mergingErrors: true)
        // dbus-send cannot send variants; a call that does not fit is refused.
        #expect(String(decoding: sent.output, as: UTF8.self).contains("a{ss}"))
        for helper in [helper, bus.helpers.first].compactMap(\.self) {
            try Processes.awaitEnd(of: helper)
        }
        #expect(bus.helpers.isEmpty)
        try bus.ask(Self.app, "Activate", "{}")
        #expect(try kit.daemon.client().instances(of: Self.app).count == 1)
    }

    // MARK: Programs

    /// A daemon with a desktop entry whose program takes its name by itself.
    private func program() throws -> (TestDaemon, log: String) {
        var options = TestDaemon.Options()
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        return (daemon, daemon.directory.path + "/served")
    }

    private func describe(
        _ daemon: TestDaemon, _ bus: SessionBus, log: String, gate: String? = nil
    ) throws {
        let probe = try Programs.built("systemd-probe")
        let variables =
            "DBUS_SESSION_BUS_ADDRESS=\(bus.address)" + (gate.map { " GATE=\($0)" } ?? "")
        try daemon.directory.write(
            """
            [Desktop Entry]
            Type=Application
            Name=Viewer
            DBusActivatable=true
            Exec=env \(variables) \(probe) serve org.example.view \(log) %U
            Actions=new;
            [Desktop Action new]
            Name=New
            Exec=env \(variables) \(probe) serve org.example.view \(log) new

            """, to: "applications/org.example.view.desktop")
        _ = try daemon.client().reload()
        try bus.install("org.example.view")
    }

    private func lines(_ log: String) -> [String] {
        String(decoding: (try? readFile(log)) ?? [], as: UTF8.self).split(separator: "\n")
            .map(String.init)
    }

    @Test func `Greenroom starts a program for its first call, and the program serves later calls`()
        throws
    {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        try describe(daemon, bus, log: log)
        try bus.ask("org.example.view", "Open", "['file:///a%20b']", "{}")
        let instance = try #require(try daemon.client().instances(of: "org.example.view").first)
        try awaitChange(in: daemon.directory.path, "its name") { lines(log).count == 2 }
        try bus.ask("org.example.view", "Activate", "{}")
        #expect(
            lines(log) == ["started file:///a%20b", "owns its name", "called Activate []"])
        try daemon.client().change(.kill, instance.instance)
        try bus.ask("org.example.view", "ActivateAction", "new", "[]", "{}")
        try awaitChange(in: daemon.directory.path, "its second name") { lines(log).count == 5 }
        #expect(lines(log)[3] == "started new")
    }

    /// Calls a program that was launched and has not taken its name. Returns when the helper waits
    /// for the program.
    private func callEarly(
        _ bus: SessionBus, by caller: String, _ arguments: [String]
    ) throws -> ChildProcess {
        let call = try ChildProcess(ChildRequest(caller, arguments: [caller] + arguments))
        try Processes.wait("no helper waits for the program") {
            bus.helpers.contains { helper in
                KernelObjects.openFiles(of: helper).contains { $0.hasSuffix("[pidfd]") }
            }
        }
        return call
    }

    @Test func `a call waits for a program that has not taken its name yet`() throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let gate = daemon.directory.path + "/gate"
        #expect(mkfifo(gate, 0o600) == 0)
        try describe(daemon, bus, log: log, gate: gate)
        _ = try daemon.client().launch("org.example.view")
        let call = try callEarly(
            bus, by: findProgram("gdbus") ?? "gdbus",
            [
                "call", "--address", bus.address, "--dest", "org.example.view",
                "--object-path", "/org/example/view", "--method",
                "org.freedesktop.Application.Activate", "{}",
            ])
        let helpers = bus.helpers
        close(open(gate, O_WRONLY))
        #expect(try call.waitForExit() == .status(0))
        #expect(lines(log) == ["started ", "owns its name", "called Activate []"])
        for helper in helpers { try Processes.awaitEnd(of: helper) }
    }

    @Test func `a call to a program that ends without taking its name fails`() throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let gate = daemon.directory.path + "/gate"
        #expect(mkfifo(gate, 0o600) == 0)
        try describe(daemon, bus, log: log, gate: gate)
        let instance = try daemon.client().launch("org.example.view").instance
        guard let send = findProgram("dbus-send") else {
            return try requireOrSkip(false, "there is no dbus-send (apt-get install dbus)")
        }
        // A single call: gdbus asks for the object's description first.
        let call = try callEarly(
            bus, by: send,
            [
                "--bus=\(bus.address)", "--print-reply", "--dest=org.example.view",
                "/org/example/view", "org.freedesktop.Application.Activate",
                "dict:string:string:",
            ])
        let begun = ContinuousClock.now
        try daemon.client().change(.kill, instance)
        #expect(try call.waitForExit() == .status(1))
        // The bus and the caller give up by themselves after 25 seconds.
        #expect(ContinuousClock.now - begun < .seconds(20))
    }

    // MARK: Files

    @Test func `service files are made for apps that can be called, and are removed again`()
        throws
    {
        let kit = try kit(prewarm: 0)
        let daemon = kit.daemon
        try daemon.install(TestApp("org.example.plain", exec: "/bin/true"))
        try daemon.install(TestApp("org.example.2go", exec: "/bin/true"))
        _ = try daemon.client().reload()
        let folder = daemon.directory.path + "/s"
        func ctl(_ words: String...) throws -> (ChildProcess.Exit, String) {
            let program = try Programs.client
            let (exit, output) = try run(
                ChildRequest(
                    program,
                    arguments: [program, "dbus-service"] + words + [
                        "--socket", daemon.socketPath, "--directory", folder,
                    ]), mergingErrors: true)
            return (exit, String(decoding: output, as: UTF8.self))
        }
        let (_, text) = try ctl("kit")
        #expect(text.contains("Name=org.example.kit\nExec=/") && text.contains("/greenroom-bus "))
        #expect(try ctl("org.example.plain").1.contains("DBusActivatable=true"))
        #expect(try ctl("org.example.2go").1.contains("not a name for the message bus"))
        #expect(try ctl("kit", "--install").0 == .status(0))
        #expect(
            String(decoding: try readFile(folder + "/org.example.kit.service"), as: UTF8.self)
                == text)
        // A file of another program stays.
        try daemon.directory.write("[D-BUS Service]\n", to: "s/org.example.other.service")
        #expect(try ctl("org.example.other", "--remove").1.contains("in the way"))
        #expect(try ctl("org.example.kit", "--remove").0 == .status(0))
        #expect(access(folder + "/org.example.kit.service", F_OK) != 0)
        #expect(try ctl("org.example.kit", "--remove").0 == .status(0))
    }
}
