import DaemonTestSupport
import Glibc
import GreenroomControl
import Synchronization
import TestSupport
import Testing
import Varlink
import VarlinkTestSupport

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
        try bus.describe(Self.app, exec: "/bin/false")
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
        let first = bus.helpers
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
        for helper in first + bus.helpers { try Processes.awaitEnd(of: helper) }
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
        _ daemon: TestDaemon, _ bus: SessionBus, log: String, gate: String? = nil,
        isInstalled: Bool = true
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
        if isInstalled { try bus.install("org.example.view") }
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

    @Test func `calls by a name come to the daemon while the app's desktop entry is enabled`()
        throws
    {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log) vendor")
        try describe(daemon, bus, log: log, isInstalled: false)
        try bus.enable("org.example.view")
        try bus.ask("org.example.view", "Activate", "{}")
        let client = try daemon.client()
        let instance = try #require(try client.instances(of: "org.example.view").first)
        try awaitChange(in: daemon.directory.path, "its name") { lines(log).count == 2 }
        #expect(lines(log) == ["started ", "owns its name"])
        try client.change(.kill, instance.instance)
        for helper in bus.helpers { try Processes.awaitEnd(of: helper) }
        try bus.disable("org.example.view")
        try bus.ask("org.example.view", "Activate", "{}")
        #expect(lines(log).dropFirst(2).first == "started vendor")
        #expect(try client.instances(of: "org.example.view").allSatisfy { $0.exit != nil })
    }

    /// Calls a method of an interface that only the program has.
    private func search(_ bus: SessionBus, at path: String = "/org/example/view") throws -> Bool {
        try bus.call("org.example.view", path, "org.example.Search.Find", "['a', 'b']").isDone
    }

    @Test(arguments: ["/org/example/view", "/other"])
    func `the program itself answers calls of interfaces that Greenroom does not know`(
        path: String
    ) throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log) 'a \"b'")
        try describe(daemon, bus, log: log)
        #expect(try search(bus, at: path))
        #expect(lines(log) == ["started a \"b", "owns its name", "called Find [\"a\", \"b\"]"])
        // The program was started by its own command.
        #expect(try daemon.client().instances(of: "org.example.view").isEmpty)
    }

    /// Only the daemon can confine it.
    @Test func `calls of other interfaces do not start a program that has a manifest`() throws {
        let (daemon, log) = try program()
        // It would be started if the daemon did not answer for two seconds.
        let folder = try manifestFolder()
        let bus = try SessionBus(for: daemon, environment: ["XDG_CONFIG_HOME=\(folder.path)"])
        defer { bus.end() }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log)")
        try daemon.install(
            TestApp("org.example.view", exec: "\(probe) serve org.example.view \(log)"))
        try describe(daemon, bus, log: log)
        #expect(try !search(bus))
        #expect(lines(log).isEmpty)
    }

    /// Begins a single such call: gdbus asks for the object's description first.
    private func beginSearch(_ bus: SessionBus, by send: String) throws -> ChildProcess {
        try ChildProcess(
            ChildRequest(
                send,
                arguments: [
                    send, "--bus=\(bus.address)", "--print-reply", "--dest=org.example.view",
                    "/org/example/view", "org.example.Search.Find", "array:string:a",
                ]))
    }

    /// `systemctl start`, and programs that go into the background.
    @Test func `a call waits for a program that another process has started`() throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        guard let send = findProgram("dbus-send") else {
            return try requireOrSkip(false, "there is no dbus-send (apt-get install dbus)")
        }
        let gate = daemon.directory.path + "/gate"
        #expect(mkfifo(gate, 0o600) == 0)
        let probe = try Programs.built("systemd-probe")
        try bus.describe(
            "org.example.view",
            exec: "/bin/sh -c 'GATE=\(gate) \(probe) serve org.example.view \(log) &'")
        try describe(daemon, bus, log: log)
        let call = try beginSearch(bus, by: send)
        try Processes.wait("the program was not started") { !lines(log).isEmpty }
        try Processes.wait("the shell was not waited for") {
            bus.helpers.allSatisfy { Processes.descendants(of: $0).isEmpty }
        }
        close(open(gate, O_WRONLY))
        #expect(try call.waitForExit() == .status(0))
        #expect(lines(log) == ["started ", "owns its name", "called Find [\"a\"]"])
    }

    @Test func `one program is started for calls that come before it has its name`() throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        guard let send = findProgram("dbus-send") else {
            return try requireOrSkip(false, "there is no dbus-send (apt-get install dbus)")
        }
        let gate = daemon.directory.path + "/gate"
        #expect(mkfifo(gate, 0o600) == 0)
        let probe = try Programs.built("systemd-probe")
        try bus.describe(
            "org.example.view",
            exec: "/usr/bin/env GATE=\(gate) \(probe) serve org.example.view \(log)")
        try describe(daemon, bus, log: log)
        let first = try beginSearch(bus, by: send)
        try Processes.wait("the program was not started") { !lines(log).isEmpty }
        let second = try beginSearch(bus, by: send)
        try Processes.wait("the bus has started no second helper") { bus.helpers.count == 2 }
        let inherited = Set(KernelObjects.openFiles(of: getpid()))
        for helper in bus.helpers {
            // It has asked the daemon and waits.
            try Processes.wait("a helper does not wait") {
                KernelObjects.openFiles(of: helper)
                    .count { $0.hasPrefix("socket:") && !inherited.contains($0) } == 1
                    && Processes.state(of: helper) == "S"
            }
        }
        close(open(gate, O_WRONLY))
        #expect(try first.waitForExit() == .status(0))
        #expect(try second.waitForExit() == .status(0))
        let found = "called Find [\"a\"]"
        #expect(lines(log) == ["started ", "owns its name", found, found])
    }

    @Test(arguments: ["no helper", "no daemon", "no app"])
    func `the bus starts the program where Greenroom cannot`(lack: String) throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log) vendor")
        try describe(daemon, bus, log: log)
        switch lack {
        case "no helper":
            let file = bus.services + "/org.example.view.service"
            let text = String(decoding: try readFile(file), as: UTF8.self)
            try bus.directory.write(
                text.replacing("/greenroom-bus", with: "/purged"),
                to: "services/org.example.view.service")
            try bus.reload()
        case "no daemon": _ = try daemon.terminate()
        default:
            unlink(daemon.directory.path + "/applications/org.example.view.desktop")
            _ = try daemon.client().reload()
        }
        try bus.ask("org.example.view", "Activate", "{}")
        #expect(try search(bus))
        #expect(
            lines(log) == [
                "started vendor", "owns its name", "called Activate []",
                "called Find [\"a\", \"b\"]",
            ])
    }

    @Test func `beside a silent daemon, the bus starts a program that has no manifest`() throws {
        let (daemon, log) = try program()
        let bus = try SessionBus(for: daemon)
        defer { bus.end() }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log) vendor")
        try describe(daemon, bus, log: log)
        daemon.signal(SIGSTOP)
        defer { daemon.signal(SIGCONT) }
        try bus.ask("org.example.view", "Activate", "{}")
        #expect(lines(log) == ["started vendor", "owns its name", "called Activate []"])
    }

    /// A folder for `XDG_CONFIG_HOME` with a manifest of the program, which only the daemon applies.
    private func manifestFolder() throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        for path in ["greenroom", "greenroom/apps"] { mkdir(folder.path + "/" + path, 0o755) }
        try folder.write("", to: "greenroom/apps/org.example.view.app")
        return folder
    }

    /// systemd keeps the socket while the daemon is restarted.
    @Test(arguments: [false, true])
    func `a call that only the daemon can serve waits for a silent daemon`(
        hasCommand: Bool
    ) throws {
        let (daemon, log) = try program()
        let folder = try manifestFolder()
        let bus = try SessionBus(for: daemon, environment: ["XDG_CONFIG_HOME=\(folder.path)"])
        defer { bus.end() }
        if hasCommand {
            let probe = try Programs.built("systemd-probe")
            try bus.describe(
                "org.example.view", exec: "\(probe) serve org.example.view \(log) vendor")
        }
        try describe(daemon, bus, log: log)
        guard let busctl = findProgram("busctl") else {
            return try requireOrSkip(false, "there is no busctl (apt-get install systemd)")
        }
        daemon.signal(SIGSTOP)
        defer { daemon.signal(SIGCONT) }
        // A single call: gdbus asks for the object's description first.
        let call = try ChildProcess(
            ChildRequest(
                busctl,
                arguments: [
                    busctl, "--address=\(bus.address)", "call", "org.example.view",
                    "/org/example/view", "org.freedesktop.Application", "Activate", "a{sv}", "0",
                ]))
        #expect(!Processes.ends(call.pid, within: 4_000))
        daemon.signal(SIGCONT)
        #expect(try call.waitForExit() == .status(0))
        try awaitChange(in: daemon.directory.path, "its name") { lines(log).count == 2 }
        #expect(lines(log) == ["started ", "owns its name"])
    }

    /// The program's command is not executed: the daemon may confine the program, or may have
    /// launched an instance that is about to take the name.
    @Test(arguments: ["kind", "instances", "launched instances"])
    func `a call fails with the reason if the daemon leaves a question unanswered`(
        unanswered: String
    ) throws {
        let (daemon, log) = try program()
        let folder = try manifestFolder()
        let bus = try SessionBus(for: daemon, environment: ["XDG_CONFIG_HOME=\(folder.path)"])
        defer { bus.end() }
        guard let send = findProgram("dbus-send") else {
            return try requireOrSkip(false, "there is no dbus-send (apt-get install dbus)")
        }
        let probe = try Programs.built("systemd-probe")
        try bus.describe("org.example.view", exec: "\(probe) serve org.example.view \(log)")
        try describe(daemon, bus, log: log)
        let statusCount = Mutex(0)
        let server = try TestServer { incoming in
            switch try? ControlCall(incoming.call) {
            case .application where unanswered != "kind":
                return .fail(ControlError.refused(code: "not_application_kit", reason: "x"))
            case .list:
                return .reply([
                    ControlReply.listed([Control.AppSummary(identifier: "org.example.view")])
                ])
            case .status where unanswered == "launched instances":
                let isFirst = statusCount.withLock {
                    $0 += 1
                    return $0 == 1
                }
                if isFirst { return .reply([ControlReply.status([])]) }
            case _: break
            }
            return .fail(ServiceError.methodNotFound(incoming.call.method))
        }
        let file = bus.services + "/org.example.view.service"
        let text = String(decoding: try readFile(file), as: UTF8.self)
        try bus.directory.write(
            text.replacing(daemon.socketPath, with: server.path),
            to: "services/org.example.view.service")
        try bus.reload()
        let call = try run(
            ChildRequest(
                send,
                arguments: [
                    send, "--bus=\(bus.address)", "--print-reply", "--dest=org.example.view",
                    "/org/example/view", "org.example.Search.Find", "array:string:a",
                ]), mergingErrors: true)
        let said = String(decoding: call.output, as: UTF8.self)
        #expect(said.contains("greenroomd is another version"), "\(said)")
        #expect(lines(log).isEmpty)
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
