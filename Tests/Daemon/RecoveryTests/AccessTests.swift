import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The rights of users on apps, over real connections of real users.
@Suite struct AccessTests {
    private let own = "org.example.own"
    private let foreign = "org.example.foreign"
    private static let user: Int32 = 65_534
    private static let stranger: Int32 = 12_345
    private static let group: Int32 = 23_456

    private func daemon(_ configuration: [String] = []) throws -> TestDaemon {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let probe = try compileProbe("behave.c")
        var options = TestDaemon.Options()
        options.configuration = configuration
        return try TestDaemon(
            [
                program(own, probe, ["User=\(Self.user)"]),
                program(foreign, probe, ["User=\(Self.stranger)"]),
                program("org.example.root", probe),
            ], options)
    }

    private func client(
        _ daemon: TestDaemon, as user: Int32 = AccessTests.user, extraGroup: Int32 = -1
    ) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, user, user, extraGroup)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// The right that was missing, according to the refusal; nil if the call was allowed.
    private func needed(_ body: () throws -> Void) throws -> String? {
        do { try body() } catch ControlError.permissionDenied(let needed) { return needed }
        return nil
    }

    @Test func `users without an app cannot fill the list of locked users`() throws {
        let daemon = try daemon()
        for user in 0..<1024 {
            _ = try client(daemon, as: 200_000 + Int32(user)).call(.application(.lock(user: nil)))
        }
        let one = try client(daemon, as: 300_000)
        let full = ControlError.limitExceeded(what: "locked users without an app", limit: 1024)
        #expect(control { _ = try one.call(.application(.lock(user: nil))) } == full)
        #expect(control { _ = try client(daemon).call(.application(.lock(user: nil))) } == nil)
        #expect(control { _ = try daemon.client().call(.application(.lock(user: nil))) } == nil)
        _ = try client(daemon, as: 200_000).call(.application(.unlock(user: nil)))
        _ = try client(daemon, as: 200_001).call(.application(.unlock(user: nil)))
        _ = try client(daemon, as: 200_002).call(.application(.unlock(user: nil)))
        #expect(control { _ = try one.call(.application(.lock(user: nil))) } == nil)
    }

    @Test func `users see only their own apps`() throws {
        let daemon = try daemon()
        #expect(try daemon.client().list().count == 3)
        #expect(try client(daemon).list().map(\.identifier) == [own])
        #expect(try client(daemon, as: Self.stranger).list().map(\.identifier) == [foreign])
        #expect(try client(daemon, as: 4321).list().isEmpty)
        let running = try daemon.client().launch(foreign, ["wait-forever"])
        #expect(try client(daemon).instances().isEmpty)
        #expect(
            try client(daemon, as: Self.stranger).instances().map(\.instance) == [
                running.instance
            ])
        // A suggestion does not name it either.
        guard
            case .noSuchApp(_, let suggestion)? = control({
                _ = try client(daemon).explain(foreign + "x")
            })
        else { throw TestError("another error") }
        #expect(suggestion != foreign)
        guard case .noSuchApp(_, own?)? = control({ _ = try client(daemon).explain(own + "x") })
        else { throw TestError("no suggestion") }
    }

    @Test(arguments: ["Observe", "Control", "Administer"])
    func `no group lets its members see the history of others`(right: String) throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let probe = try compileProbe("behave.c")
        var app = program(own, probe, prewarm: 1)
        app.prewarmLines = ["When=auto"]
        var options = TestDaemon.Options()
        options.configuration = ["\(right)Groups=\(Self.group)"]
        let daemon = try TestDaemon([app, program(foreign, probe)], options)
        let (root, member) = (
            try daemon.client(), try client(daemon, as: 4321, extraGroup: Self.group)
        )
        #expect(try member.list().count == 2)
        for kind: Control.LaunchKind in [.cold, .prewarmed] {
            let launched = try root.launch(own)
            #expect(launched.kind == .known(kind))
            _ = try root.wait(launched.instance)
            guard case .history = try root.call(.history(.init())) else {
                throw TestError("another reply")
            }
            try daemon.awaitPaused(own)
        }
        func seen(_ client: TestClient) throws -> [Int] {
            guard case .history(let launches) = try client.call(.history(.init())),
                case .pauseHistory(let pauses) = try client.call(.pauseHistory(.init())),
                case .planned(let plan) = try client.call(.plan(app: nil))
            else { throw TestError("another reply") }
            return [launches.records.count, pauses.records.count, plan.apps.count]
        }
        #expect(try seen(root) == [2, 1, 1])
        #expect(try seen(member) == [0, 0, 0])
        #expect(try needed { _ = try member.call(.plan(app: own)) } == "user root or root")
        #expect(try root.explain(own).rank != nil && member.explain(own).rank == nil)
        guard case .forgotten(0) = try member.call(.forgetHistory(app: nil)) else {
            throw TestError("it was forgotten")
        }
        // The member still sees what happens.
        #expect(try member.explain(own).lastLaunch != nil)
    }

    @Test func `a user who sees no app is told who may see others`() throws {
        let daemon = try daemon()
        let request = try clientProcess(daemon, ["list"], user: 4321)
        let result = try run(request)
        #expect(result.exit == .status(0))
        #expect(String(decoding: result.output, as: UTF8.self).contains("ObserveGroups="))
    }

    /// If a user could do so, the daemon would make sockets and prewarm instances as the template's
    /// user.
    @Test func `no user can make an instance of another user's template`() throws {
        let daemon = try daemon()
        let socket = daemon.directory.path + "/made-%i"
        var template = TestApp(
            "org.example.many@", exec: try compileProbe("behave.c"), prewarm: 1,
            prewarmLines: ["When=boot", "[Socket]", "ListenStream=\(socket)"])
        template.lines = ["User=\(Self.stranger)"]
        try daemon.install(template)
        _ = try daemon.client().reload()
        let name = "org.example.many@x"
        for _ in 0..<3 {
            #expect(throws: ControlError.self) { try client(daemon).launch(name) }
            #expect(throws: ControlError.self) { try client(daemon).prewarm(name) }
        }
        let made = socket.replacing("%i", with: "x")
        #expect(access(made, F_OK) != 0)
        #expect(try daemon.client().instances().allSatisfy { $0.app != name })
        // The app's own user may.
        let running = try client(daemon, as: Self.stranger).launch(name, ["wait-forever"])
        #expect(access(made, F_OK) == 0)
        try client(daemon, as: Self.stranger).change(.kill, running.instance)
    }

    @Test func `an app whose manifest is gone stays its user's after a restart`() throws {
        let daemon = try daemon()
        let launched = try client(daemon).launch(own, ["wait-forever"])
        try daemon.kill()
        try daemon.remove(own)
        try daemon.start()
        let stranger = try client(daemon, as: Self.stranger)
        #expect(try stranger.instances().isEmpty)
        #expect(throws: ControlError.self) {
            try stranger.call(.transition(.terminate, .app(own)))
        }
        let client = try client(daemon)
        #expect(try client.instances().map(\.instance) == [launched.instance])
        try client.send(.wait(.instance(launched.instance)))
        try self.client(daemon).call(.transition(.terminate, .app(own)))
        guard case .exited(let end) = try client.reply(to: .wait(.instance(launched.instance)))
        else { throw TestError("another reply") }
        #expect(end.exit.signal == SIGTERM)
    }

    @Test func `an app runs as its user, who may control it`() throws {
        let daemon = try daemon()
        let client = try client(daemon)
        let launched = try client.launch(own, ["wait-forever"])
        #expect(Processes.line("Uid", of: launched.processId!)?.hasPrefix("65534\t65534") == true)
        try client.change(.suspend, launched.instance)
        try client.change(.resume, launched.instance)
        guard case .done = try client.call(.signal(instance: launched.instance, signal: SIGINT))
        else { throw TestError("another reply") }
        #expect(try client.wait(launched.instance).signal == SIGINT)
    }

    @Test func `another user's app cannot be launched, moved, signaled, seen or awaited`() throws {
        let daemon = try daemon()
        let running = try daemon.client().launch(foreign, ["wait-forever"]) {
            $0.launchIdentifier = "secret"
        }
        let instance = running.instance
        let client = try client(daemon)
        // The error equals that for an instance that does not exist.
        let noApp = ControlError.noSuchApp(foreign, suggestion: nil)
        let noInstance = ControlError.notRunning(.instance(instance))
        let refused: [(String, ControlError, () throws -> Void)] = [
            ("launch", noApp, { _ = try client.launch(foreign) }),
            ("prewarm", noApp, { _ = try client.prewarm(foreign) }),
            ("status of the app", noApp, { _ = try client.instances(of: foreign) }),
            ("explain", noApp, { _ = try client.explain(foreign) }),
            (
                "suspend the app", noApp,
                { _ = try client.call(.transition(.suspend, .app(foreign))) }
            ),
            ("suspend", noInstance, { _ = try client.change(.suspend, instance) }),
            ("terminate", noInstance, { _ = try client.change(.terminate, instance) }),
            ("kill", noInstance, { _ = try client.change(.kill, instance) }),
            (
                "signal", noInstance,
                { _ = try client.call(.signal(instance: instance, signal: SIGTERM)) }
            ),
            ("status", noInstance, { _ = try client.instance(instance) }),
            ("wait", noInstance, { _ = try client.wait(instance) }),
            ("wait by launch", .noSuchLaunch("secret"), { _ = try client.wait(.launch("secret")) }),
        ]
        for (verb, error, call) in refused {
            #expect(control(call)?.withoutSuggestion == error, "\(verb)")
        }
        #expect(try needed { _ = try client.reload() }?.contains("AdministerGroups=") == true)
        #expect(Processes.isAlive(running.processId!))
        #expect(try daemon.client().instance(instance).state == .active)
        // The app's own user may.
        try self.client(daemon, as: Self.stranger).change(.kill, instance)
        #expect(
            try self.client(daemon, as: Self.stranger).wait(.launch("secret")).reason == .forceQuit)
    }

    @Test func `a wait for a launch name looks among the caller's own apps first`() throws {
        let daemon = try daemon()
        let (user, stranger) = (try client(daemon), try client(daemon, as: Self.stranger))
        let name: (inout Control.LaunchCall) -> Void = { $0.launchIdentifier = "same" }
        let mine = try user.launch(own, ["wait-forever"], name)
        // A later launch with the same name.
        let theirs = try stranger.launch(foreign, ["exit", "4"], name)
        #expect(try stranger.wait(.launch("same")).status == 4)
        try user.change(.kill, mine.instance)
        #expect(try user.wait(.launch("same")).reason == .forceQuit)
        #expect(mine.instance != theirs.instance)
    }

    @Test func `a watcher's events are numbered without gaps, even if some are hidden from it`()
        throws
    {
        let daemon = try daemon()
        let watcher = try client(daemon)
        try watcher.send(.watch())
        guard case .watching(let latest) = try watcher.reply(to: .watch()) else {
            throw TestError("no number to begin with")
        }
        var sequences: [UInt64] = []
        for app in [foreign, own, foreign, own] {
            let launched = try daemon.client().launch(app, ["exit", "0"])
            _ = try daemon.client().wait(launched.instance)
            guard app == own else { continue }
            while true {
                guard case .watched(let event?) = try watcher.reply(to: .watch()) else { break }
                #expect(event.app == own)
                sequences.append(event.sequence)
                if event.kind == .exited { break }
            }
        }
        #expect(sequences.count > 4)
        #expect(sequences == Array(latest + 1...latest + UInt64(sequences.count)))
    }

    @Test func `a client that may observe all apps can watch only those of its own user`() throws {
        let daemon = try daemon(["ObserveGroups=\(Self.group)"])
        for (watcher, app) in [
            (try daemon.client(), "org.example.root"),
            (try client(daemon, extraGroup: Self.group), own),
        ] {
            try watcher.send(.watch(own: true))
            guard case .watching(let latest) = try watcher.reply(to: .watch()) else {
                throw TestError("no number to begin with")
            }
            for app in [foreign, app] {
                let launched = try daemon.client().launch(app, ["exit", "0"])
                _ = try daemon.client().wait(launched.instance)
            }
            // A reload does not change which apps it may see.
            _ = try daemon.client().reload()
            guard case .watched(let event?) = try watcher.reply(to: .watch()) else {
                throw TestError("no event")
            }
            #expect(event.app == app && event.sequence == latest + 1)
            while true {
                guard case .watched(let event?) = try watcher.reply(to: .watch()) else {
                    throw TestError("no event")
                }
                #expect(event.app == app)
                if event.kind == .exited { break }
            }
        }
    }

    @Test func `groups of the configuration may observe, control or administer`() throws {
        for (setting, mayObserve, mayControl, mayAdminister) in [
            ("ObserveGroups", true, false, false), ("ControlGroups", true, true, false),
            ("AdministerGroups", true, true, true),
        ] {
            let daemon = try daemon(["\(setting)=\(Self.group)"])
            let member = try client(daemon, extraGroup: Self.group)
            #expect(try member.list().count == 3, "\(setting)")
            let running = try daemon.client().launch(foreign, ["wait-forever"])
            #expect(
                (try needed { _ = try member.instance(running.instance) } == nil) == mayObserve,
                "\(setting)")
            #expect(
                (try needed { _ = try member.launch(foreign, ["exit", "0"]) } == nil) == mayControl,
                "\(setting)")
            #expect(
                (try needed { _ = try member.change(.kill, running.instance) } == nil)
                    == mayControl, "\(setting)")
            #expect(
                (try needed { _ = try member.reload() } == nil) == mayAdminister, "\(setting)")
            let another: UInt32 = 4242
            for call in [Control.ApplicationCall.lock(user: another), .unlock(user: another)] {
                #expect(
                    (try needed { _ = try member.call(.application(call)) } == nil)
                        == mayAdminister,
                    "\(setting)")
            }
            #expect(try client(daemon).list().count == 1)
        }
    }

    @Test func `a launch of another user's app can bring only arguments`() throws {
        let daemon = try daemon(["ControlGroups=\(Self.group)"])
        let member = try client(daemon, extraGroup: Self.group)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let changes: [(inout Control.LaunchCall) -> Void] = [
            { $0.environment = [.init(name: "LD_PRELOAD", value: "/tmp/evil.so")] },
            { $0.environment = [.init(name: "HARMLESS", value: "1")] },
            { $0.callerEnvironment = ["PATH=/bin"] },
            { $0.workingDirectory = "/tmp" },
            { $0.standardOutput = 0 },
            { $0.workingDirectoryDescriptor = 0 },
            { $0.umask = 0 },
            { $0.otherDescriptors = [.init(number: 5, index: 0)] },
            { $0.closedDescriptors = [2] },
            { $0.callerState = Control.CallerState() },
        ]
        for change in changes {
            var call = Control.LaunchCall(app: foreign)
            call.arguments = ["exit", "0"]
            change(&call)
            let carries =
                call.standardOutput != nil || call.workingDirectoryDescriptor != nil
                || !call.otherDescriptors.isEmpty
            let needed = try needed {
                _ = try member.launch(call, descriptors: carries ? [null] : [])
            }
            #expect(needed?.contains("user 12345") == true)
            #expect(needed?.contains("arguments only") == true)
        }
        let launched = try member.launch(foreign, ["exit", "6"])
        #expect(try member.wait(launched.instance).status == 6)
        // A launch of the user's own app may bring everything.
        let pipe = try Pipe()
        let mine = try member.launch(own, ["print", "mine"], output: pipe.writeEnd) {
            $0.environment = [.init(name: "LD_BIND_NOW", value: "1")]
        }
        #expect(try readLine(pipe.readEnd) == "mine")
        _ = try member.wait(mine.instance)
    }

    @Test func `an app with extra groups accepts only arguments, even from its own user`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let app = program(
            own, try compileProbe("behave.c"),
            ["User=\(Self.user)", "SupplementaryGroups=\(Self.group)"])
        let daemon = try TestDaemon([app], TestDaemon.Options())
        let user = try client(daemon)
        let changes: [(inout Control.LaunchCall) -> Void] = [
            { $0.environment = [.init(name: "LD_PRELOAD", value: "/tmp/evil.so")] },
            { $0.closedDescriptors = [2] },
            { $0.callerState = Control.CallerState() },
        ]
        for change in changes {
            let refused = try needed { _ = try user.launch(own, ["exit", "0"], change) }
            #expect(refused?.contains("rights of its own") == true)
        }
        let launched = try user.launch(own, ["exit", "6"])
        #expect(try user.wait(launched.instance).status == 6)
    }

    @Test func `the daemon enters no directory that the calling user could not enter`() throws {
        let daemon = try daemon()
        let directory = try TemporaryDirectory()
        mkdir(directory.path + "/locked", 0o755)
        mkdir(directory.path + "/locked/open", 0o755)
        chmod(directory.path + "/locked", 0o700)
        let needed = try needed {
            _ = try client(daemon).launch(own, ["exit", "0"]) {
                $0.workingDirectory = directory.path + "/locked/open"
            }
        }
        #expect(needed?.contains("workingDirectoryDescriptor") == true)
    }
}

extension ControlError {
    fileprivate var withoutSuggestion: ControlError {
        if case .noSuchApp(let app, _) = self { .noSuchApp(app, suggestion: nil) } else { self }
    }
}
