import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Shells that say which app has the foreground: over the control socket, with greenroomctl, and by
/// the reporter that comes with Greenroom, on an X server and on a Wayland compositor.
@Suite(.serialized) struct ForegroundTests {
    private static let (one, two) = ("org.example.one", "org.example.two")
    /// The lines of a desktop app's manifest, as a desktop entry makes it.
    private static let desktop = ["ForegroundGroup=none", "SuspendInBackground=no"]

    private static func app(_ name: String, _ exec: String, _ lines: [String] = []) -> TestApp {
        var app = TestApp(name, exec: exec)
        app.lines = desktop + lines
        return app
    }

    // MARK: The call

    private func daemon(_ options: TestDaemon.Options = .init()) throws -> TestDaemon {
        try TestDaemon(
            [Self.app(Self.one, "sleep 10000"), Self.app(Self.two, "sleep 10000")], options)
    }

    private func report(
        _ front: Control.Front?, _ client: TestClient
    ) throws -> Control.Foreground {
        guard case .foreground(let foreground) = try client.call(.reportForeground(front)) else {
            throw TestError("another reply")
        }
        return foreground
    }

    private func states(
        _ client: TestClient, _ instances: UInt64...
    ) throws -> [Control.ExecutionState?] {
        try instances.map { try client.instance($0).state.known }
    }

    @Test func `a shell's reports move instances, and its end moves none`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let (first, second) = (try client.launch(Self.one), try client.launch(Self.two))
        let process = try #require(first.processId)
        let shell = try daemon.client()
        #expect(
            try report(.process(process), shell)
                == .init(app: Self.one, instance: first.instance))
        #expect(try states(client, first.instance, second.instance) == [.active, .active])
        #expect(try report(.app(Self.two), shell) == .init(app: Self.two))
        #expect(try states(client, first.instance, second.instance) == [.background, .active])
        #expect(try report(.instance(first.instance), shell).instance == first.instance)
        #expect(try states(client, first.instance, second.instance) == [.active, .background])
        // A process that belongs to no app, and one that does not exist.
        for other in [getpid(), 4_194_304] {
            #expect(try report(.process(other), shell) == .init())
            #expect(
                try states(client, first.instance, second.instance) == [.background, .background])
        }
        _ = try report(.app(Self.one), shell)
        shutdown(shell.descriptor, CInt(SHUT_RDWR))
        // The daemon has seen the end when it serves a connection that was made after it.
        _ = try daemon.client().describe()
        #expect(try states(client, first.instance, second.instance) == [.active, .background])
    }

    @Test func `a wrong report is refused and changes nothing`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let first = try client.launch(Self.one)
        _ = try report(.app(Self.one), client)
        #expect(throws: ControlError.self) { try report(.app("org.example.none"), client) }
        #expect(throws: ControlError.self) { try report(.instance(4711), client) }
        #expect(try states(client, first.instance) == [.active])
    }

    @Test func `a user, even root, reports only about the user's own apps`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let (user, stranger): (Int32, Int32) = (65_534, 12_345)
        let daemon = try TestDaemon(
            Self.app(Self.one, "sleep 10000", ["User=\(user)"]),
            Self.app(Self.two, "sleep 10000", ["User=\(stranger)"]))
        func client(_ user: Int32) throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, user, user, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }
        let root = try daemon.client()
        let (first, second) = (try root.launch(Self.one), try root.launch(Self.two))
        let (own, other) = (try client(user), try client(stranger))
        _ = try report(.app(Self.one), own)
        // For the stranger, an app that it cannot see does not exist.
        #expect(throws: ControlError.self) { try report(.app(Self.one), other) }
        #expect(throws: ControlError.self) { try report(.instance(first.instance), other) }
        #expect(try report(.process(#require(first.processId)), other) == .init())
        #expect(try states(root, first.instance, second.instance) == [.active, .active])
        // Root sees the app, but has no shell on that user's display.
        do {
            _ = try report(.app(Self.one), root)
            Issue.record("root reported about another user's app")
        } catch ControlError.permissionDenied {}
        #expect(try report(.process(#require(first.processId)), root) == .init())
        #expect(try states(root, first.instance, second.instance) == [.active, .active])
        _ = try report(nil, own)
        #expect(try states(root, first.instance, second.instance) == [.background, .active])
    }

    @Test func `greenroomctl reports lines`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let (first, second) = (try client.launch(Self.one), try client.launch(Self.two))
        let (input, output) = (try Pipe(), try Pipe())
        var request = ChildRequest(
            try Programs.client,
            arguments: [
                "greenroomctl", "report-foreground", "--socket", daemon.socketPath,
            ])
        request.descriptors = [0: input.readEnd, 1: output.writeEnd]
        let verb = try ChildProcess(request)
        output.closeWriteEnd()
        func enter(_ line: String) throws -> String {
            let bytes = Array((line + "\n").utf8)
            guard write(input.writeEnd, bytes, bytes.count) == bytes.count else {
                throw TestError("the verb does not read")
            }
            return try readLine(output.readEnd)
        }
        #expect(
            try enter("\(try #require(first.processId))")
                == "\(Self.one): instance \(first.instance)")
        #expect(try enter(Self.two) == Self.two)
        #expect(try states(client, first.instance, second.instance) == [.background, .active])
        #expect(try enter("") == "none")
        #expect(try states(client, first.instance, second.instance) == [.background, .background])
        input.closeWriteEnd()
        #expect(try verb.waitForExit() == .status(0))
    }

    // MARK: The reporter

    /// The reporter that comes with Greenroom, as a session starts it. Returns when it watches the
    /// display.
    private func reporter(
        _ daemon: TestDaemon, _ environment: [String], user: Int32? = nil, socket: String? = nil
    ) throws -> ChildProcess {
        let program = try Programs.built("greenroom-foreground")
        let folder = try TemporaryDirectory()
        let address = folder.path + "/ready"
        let ready = try DatagramSocket(boundAt: address, mode: 0o666)
        var request = ChildRequest(
            program, arguments: [program, "--socket", socket ?? daemon.socketPath],
            environment: environment + ["SWIFT_BACKTRACE=enable=no", "NOTIFY_SOCKET=\(address)"])
        request.user = user
        let process = try ChildProcess(request)
        guard try ready.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("the reporter does not start")
        }
        return process
    }

    private func awaitState(
        _ daemon: TestDaemon, _ instance: UInt64, _ state: Control.ExecutionState
    ) throws {
        try daemon.await("\(state) of \(instance)") { client in
            try client.instance(instance).state.known == state ? true : nil
        }
    }

    /// Two programs with a window each, and a window manager.
    private final class Desktop {
        let screen: Screen
        let daemon: TestDaemon
        private let manager: ChildProcess

        init(_ lines: [String] = []) throws {
            screen = try Screen()
            let probe = try Screen.probe()
            let display = "DISPLAY=\(screen.display)"
            daemon = try TestDaemon(
                ForegroundTests.app(
                    ForegroundTests.one, probe + " xlib one", ["Environment=\(display)"] + lines),
                ForegroundTests.app(
                    ForegroundTests.two, probe + " xlib two", ["Environment=\(display)"] + lines))
            manager = try screen.manage(in: daemon.directory.path)
        }

        /// Launches the app into the background and gives its window the focus. Returns when the
        /// reporter has named the app, so only a report can have brought it to the front.
        func show(_ app: String, _ window: String) throws -> UInt64 {
            let instance = try daemon.client().launch(app) { $0.isBackground = true }.instance
            try screen.activate(window)
            try daemon.await("the report of \(window)") { client in
                try client.instance(instance).state == .active ? true : nil
            }
            return instance
        }
    }

    @Test func `on X the app whose window has the focus is in front`() throws {
        let desktop = try Desktop()
        let daemon = desktop.daemon
        let shell = try reporter(daemon, ["DISPLAY=\(desktop.screen.display)"])
        // Between two windows, none may have the focus for a moment.
        let first = try desktop.show(Self.one, "one")
        let second = try desktop.show(Self.two, "two")
        try awaitState(daemon, first, .background)
        try awaitState(daemon, second, .active)
        try desktop.screen.activate("one")
        try awaitState(daemon, second, .background)
        try awaitState(daemon, first, .active)
        try desktop.screen.activate("two")
        try awaitState(daemon, first, .background)
        try awaitState(daemon, second, .active)
        // The reporter ends with the session.
        desktop.screen.end()
        #expect(try shell.waitForExit() == .status(0))
    }

    @Test(arguments: ["_NET_ACTIVE_WINDOW", "_FLOOD"])
    func `on X a client that changes properties without a pause hides no change of the focus`(
        property: String
    ) throws {
        // The flood would keep a window manager busy, too.
        let screen = try Screen()
        let probe = try Screen.probe()
        let lines = ["Environment=DISPLAY=\(screen.display)"]
        let daemon = try TestDaemon(
            Self.app(Self.one, probe + " xlib one", lines),
            Self.app(Self.two, probe + " xlib two", lines))
        let shell = try reporter(daemon, ["DISPLAY=\(screen.display)"])
        let client = try daemon.client()
        let (first, second) = (
            try client.launch(Self.one) { $0.isBackground = true }.instance,
            try client.launch(Self.two) { $0.isBackground = true }.instance
        )
        try Processes.wait("no windows") { try Set(screen.windows()) == ["one", "two"] }
        func show(_ window: String, _ instance: UInt64) throws {
            #expect(try screen.putInFront(window))
            try awaitState(daemon, instance, .active)
        }
        try show("one", first)
        try show("two", second)
        let flood = try screen.flood(property)
        for _ in 0..<2 {
            try awaitState(daemon, first, .background)
            try show("one", first)
            try awaitState(daemon, second, .background)
            try show("two", second)
        }
        #expect(Processes.residentByteCount(of: shell.pid) < Processes.smallByteCount)
        flood.kill(SIGKILL)
        shell.kill(SIGTERM)
    }

    @Test func `on X an app that loses the focus is suspended if wanted, and goes on when focused`()
        throws
    {
        let desktop = try Desktop(["SuspendInBackground=yes", "BackgroundGraceSec=3s"])
        let daemon = desktop.daemon
        let shell = try reporter(daemon, ["DISPLAY=\(desktop.screen.display)"])
        let first = try desktop.show(Self.one, "one")
        _ = try desktop.show(Self.two, "two")
        try awaitState(daemon, first, .suspended)
        try desktop.screen.activate("one")
        try awaitState(daemon, first, .active)
        shell.kill(SIGTERM)
    }

    @Test func `on X a reporter that dies leaves nothing suspended, and the next one goes on`()
        throws
    {
        let desktop = try Desktop(["SuspendInBackground=yes", "BackgroundGraceSec=3s"])
        let (daemon, client) = (desktop.daemon, try desktop.daemon.client())
        let shell = try reporter(daemon, ["DISPLAY=\(desktop.screen.display)"])
        let first = try desktop.show(Self.one, "one")
        let second = try desktop.show(Self.two, "two")
        try awaitState(daemon, first, .suspended)
        shell.kill(SIGKILL)
        _ = try shell.waitForExit()
        #expect(try states(client, second) == [.active])
        try awaitState(daemon, first, .active)
        #expect(try states(client, second) == [.active])
        let next = try reporter(daemon, ["DISPLAY=\(desktop.screen.display)"])
        try awaitState(daemon, first, .suspended)
        #expect(try states(client, second) == [.active])
        next.kill(SIGTERM)
    }

    @Test func `a daemon that starts again is told again`() throws {
        let desktop = try Desktop()
        let daemon = desktop.daemon
        let shell = try reporter(daemon, ["DISPLAY=\(desktop.screen.display)"])
        let first = try desktop.show(Self.one, "one")
        let second = try desktop.show(Self.two, "two")
        try awaitState(daemon, first, .background)
        try daemon.kill()
        // The reporter cannot tell this daemon; it tells the next one.
        try desktop.screen.activate("one")
        try daemon.start()
        try awaitState(daemon, second, .background)
        try awaitState(daemon, first, .active)
        shell.kill(SIGTERM)
    }

    @Test func `a daemon whose socket is missing for a while is told again`() throws {
        let desktop = try Desktop()
        let daemon = desktop.daemon
        let link = daemon.directory.path + "/link"
        #expect(symlink(daemon.socketPath, link) == 0)
        let shell = try reporter(
            daemon, ["DISPLAY=\(desktop.screen.display)"], socket: link)
        let first = try desktop.show(Self.one, "one")
        let second = try desktop.show(Self.two, "two")
        try awaitState(daemon, first, .background)
        func socketCount() -> Int {
            KernelObjects.openFiles(of: shell.pid).count { $0.hasPrefix("socket:") }
        }
        let count = socketCount()
        unlink(link)
        try daemon.kill()
        // The reporter has left the daemon, and has not found the socket.
        try Processes.wait("the reporter keeps its connection") { socketCount() < count }
        try Processes.awaitSleep(of: shell.pid)
        try daemon.start()
        // The focus has not changed, so only a repeated report brings the second app back.
        try daemon.client().change(.background, second)
        #expect(symlink(daemon.socketPath, link) == 0)
        try awaitState(daemon, second, .active)
        shell.kill(SIGTERM)
    }

    @Test func `on a compositor of wlroots the app of the active window is in front`() throws {
        let (sway, foot, message) = (
            findProgram("sway"), findProgram("foot"), findProgram("swaymsg")
        )
        try requireOrSkip(
            sway != nil && foot != nil && message != nil,
            "no sway and foot: apt-get install sway foot")
        // sway does not run as root.
        let user: Int32? = getuid() == 0 ? 65_534 : nil
        var options = TestDaemon.Options()
        options.user = user
        let folder = try TemporaryDirectory()
        if let user { chown(folder.path, uid_t(user), gid_t(user)) }
        chmod(folder.path, 0o700)
        let base = [
            "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "XDG_RUNTIME_DIR=\(folder.path)",
        ]
        let lines = ["XDG_RUNTIME_DIR=\(folder.path)", "WAYLAND_DISPLAY=wayland-1"].map {
            "Environment=\($0)"
        }
        // The second one calls its window by the last part of its name alone.
        let daemon = try TestDaemon(
            [
                Self.app(Self.one, "\(foot!) --app-id=\(Self.one) sleep 10000", lines),
                Self.app(Self.two, "\(foot!) --app-id=Two sleep 10000", lines),
            ], options)
        let mark = daemon.directory.path + "/ready"
        let configuration = try folder.write(
            "exec touch \(mark)\nxwayland disable\n"
                + [Self.one, "Two"].map {
                    "for_window [app_id=\"\($0)\"] exec touch \(daemon.directory.path)/\($0)\n"
                }.joined(), to: "config")
        func request(_ words: [String], _ more: [String] = []) -> ChildRequest {
            var request = ChildRequest(words[0], arguments: words, environment: base + more)
            request.user = user
            return request
        }
        let socket = "SWAYSOCK=\(folder.path)/ipc"
        let compositor = try ChildProcess(
            request(
                [sway!, "-c", configuration],
                [
                    "WLR_BACKENDS=headless", "WLR_RENDERER=pixman", "WLR_LIBINPUT_NO_DEVICES=1",
                    socket,
                ]))
        try daemon.await("the compositor") { _ in access(mark, F_OK) == 0 ? true : nil }
        let shell = try reporter(daemon, base + ["WAYLAND_DISPLAY=wayland-1"], user: user)
        func focus(_ name: String) throws {
            let ended = try run(request([message!, "[app_id=\(name)] focus"], [socket]))
            guard ended.exit == .status(0) else { throw TestError("sway has no \(name)") }
        }
        func awaitWindow(_ name: String) throws {
            try daemon.await("the window of \(name)") { _ in
                access("\(daemon.directory.path)/\(name)", F_OK) == 0 ? true : nil
            }
        }
        let client = try daemon.client()
        // The compositor gives a new window the focus, and a report brings the app to the front.
        let first = try client.launch(Self.one) { $0.isBackground = true }.instance
        try awaitWindow(Self.one)
        try awaitState(daemon, first, .active)
        let second = try client.launch(Self.two) { $0.isBackground = true }.instance
        try awaitWindow("Two")
        try awaitState(daemon, second, .active)
        try awaitState(daemon, first, .background)
        try awaitState(daemon, second, .active)
        try focus(Self.one)
        try awaitState(daemon, second, .background)
        try awaitState(daemon, first, .active)
        compositor.kill(SIGTERM)
        #expect(try shell.waitForExit() == .status(0))
    }

    @Test func `without a display that reports the focus, the reporter says so`() throws {
        let daemon = try daemon()
        let program = try Programs.built("greenroom-foreground")
        for (environment, words) in [
            ([], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
            (["DISPLAY=example.org:0"], "not a display of this machine"),
            (["DISPLAY=:4711"], "/tmp/.X11-unix/X4711"),
        ] {
            let ended = try run(
                ChildRequest(
                    program, arguments: [program, "--socket", daemon.socketPath],
                    environment: environment), mergingErrors: true)
            #expect(ended.exit == .status(69))
            #expect(String(decoding: ended.output, as: UTF8.self).contains(words))
        }
    }
}
