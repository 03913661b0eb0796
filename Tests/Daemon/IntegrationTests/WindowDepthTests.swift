import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs that are held at their first window: nobody sees anything of them before the launch,
/// and everything appears after it.
@Suite struct WindowDepthTests {
    private static let app = "org.example.windows"

    /// An app that shows windows as the words say, on its own X server.
    private final class Bench {
        let screen: Screen
        /// Sees every window, even one that is shown too early.
        let watch: WindowWatch
        let daemon: TestDaemon

        /// - Parameters:
        ///   - exec: another program than the probe.
        ///   - hearsMessages: see `Screen.watch`.
        init(
            _ words: String, exec: String? = nil, lines: [String] = [],
            hearsMessages: Bool = false, options: TestDaemon.Options = .init()
        ) throws {
            screen = try Screen()
            watch = try screen.watch(hearsMessages: hearsMessages)
            let program = try exec ?? Screen.probe()
            var app = TestApp(
                WindowDepthTests.app, exec: program + (words.isEmpty ? "" : " " + words),
                prewarm: 1, depth: "window")
            app.lines =
                ["Environment=DISPLAY=\(screen.display)", "User=\(windowUser)"] + lines
            daemon = try TestDaemon(app, options: options)
        }

        /// A client of the app's own user. Other users may not bring descriptors.
        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        /// The paused instance, which holds its window.
        func awaitHeld() throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(WindowDepthTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
        }

        func awaitDemotion() throws -> String {
            try daemon.await("the end of the depth") { client in
                try client.explain(WindowDepthTests.app).reasons.map(\.code)
                    .first { $0.hasPrefix("depth_") }
            }
        }
    }

    private func requireFreezer() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
    }

    @Test(arguments: [
        "xlib", "raised", "xcb", "checked", "request", "raw-request", "opened", "tiny", "child",
        "emerges", "becomes", "says xlib", "listens xlib",
    ])
    func `a window appears at the launch and not before`(way: String) throws {
        try requireFreezer()
        let bench = try Bench("\(way) one")
        let watch = bench.watch
        let held = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        let launched = try bench.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try watch.next() == "one")
        #expect(try bench.screen.windows() == ["one"])
    }

    /// Qt's platforms are plug-ins. What replaces a library's function must find that function there.
    @Test(arguments: [
        "xlib", "raised", "xcb", "checked", "request", "raw-request", "opened", "tiny", "child",
        "emerges", "becomes",
    ])
    func `a window of a plug-in appears at the launch and not before`(way: String) throws {
        try requireFreezer()
        let bench = try Bench("\(way) one", exec: try Screen.plugIn())
        let held = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        let launched = try bench.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try bench.watch.next() == "one")
        #expect(try bench.screen.windows() == ["one"])
    }

    @Test func `several windows appear in the order in which they were shown`() throws {
        try requireFreezer()
        let bench = try Bench("splash one xlib two xcb three raised four later five")
        let watch = bench.watch
        _ = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        #expect(try bench.client().launch(Self.app).kind == .prewarmed)
        for name in ["one", "two", "three", "four", "five"] { #expect(try watch.next() == name) }
    }

    @Test func `a window that the program takes back before the launch does not appear`() throws {
        try requireFreezer()
        let bench = try Bench("unmaps one withdraws two destroys three xlib four")
        let watch = bench.watch
        _ = try bench.awaitHeld()
        #expect(try bench.client().launch(Self.app).kind == .prewarmed)
        #expect(try watch.next() == "four")
        #expect(try bench.screen.windows() == ["four"])
    }

    @Test func `each of 20 launches shows one window`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one")
        let client = try bench.client()
        let watch = bench.watch
        for _ in 0..<20 {
            _ = try bench.awaitHeld()
            #expect(try bench.screen.windows() == [])
            let launched = try client.launch(Self.app)
            #expect(launched.kind == .prewarmed)
            #expect(try watch.next() == "one")
            #expect(try bench.screen.windows() == ["one"])
            _ = try client.change(.terminate, launched.instance)
            _ = try client.wait(launched.instance)
        }
    }

    /// A held program has already read its arguments, environment and directory.
    @Test func `a launch that brings something starts cold, and the window stays held`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one")
        let client = try bench.client()
        let held = try bench.awaitHeld()
        func expect(
            _ reason: Control.ColdReason, differing state: String? = nil,
            _ launched: Control.Launched, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            #expect(
                launched.kind == .cold && launched.coldReason == reason,
                sourceLocation: sourceLocation)
            let explained = try client.explain(Self.app).lastLaunch
            #expect(explained?.instance == launched.instance, sourceLocation: sourceLocation)
            #expect(
                explained?.differingState == state.map { [$0] }, sourceLocation: sourceLocation)
            _ = try client.change(.terminate, launched.instance)
            _ = try client.wait(launched.instance)
        }
        try expect(.arguments, client.launch(Self.app, ["xlib", "two"]))
        let pipe = try Pipe()
        try expect(
            .callerState, differing: "streams", client.launch(Self.app, output: pipe.writeEnd))
        // Only root may name another user's directory.
        try expect(
            .callerState, differing: "directory",
            bench.daemon.client().launch(Self.app) { $0.workingDirectory = "/tmp" })
        try expect(.callerState, differing: "umask", client.launch(Self.app) { $0.umask = 0o077 })
        try expect(
            .callerState, differing: "signals",
            client.launch(Self.app) {
                var state = Control.CallerState()
                state.ignoredSignals = [Int(SIGPIPE)]
                $0.callerState = state
            })
        #expect(try client.paused(Self.app).map(\.instance) == [held.instance])
        // A launch's token and the caller's shell make no difference.
        let launched = try client.launch(Self.app) {
            $0.environment = [
                .init(name: "DESKTOP_STARTUP_ID", value: "x_TIME1"),
                .init(name: "SHLVL", value: "3"),
            ]
        }
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        _ = try bench.awaitHeld()
        // The C library's own signals make no difference, either. A caller that was started by
        // posix_spawn(3) may ignore them.
        let spawned = try client.launch(Self.app) {
            var state = Control.CallerState()
            state.ignoredSignals = [32, 33]
            $0.callerState = state
        }
        #expect(spawned.kind == .prewarmed)
        _ = try bench.awaitHeld()
        let other = try client.launch(Self.app) {
            $0.environment = [.init(name: "ANYTHING", value: "else")]
        }
        #expect(other.kind == .cold && other.coldReason == .environmentMismatch)
    }

    @Test(arguments: [
        ("names", "depth_owns_name"), ("item", "depth_shows_notice"),
        ("notifies", "depth_shows_notice"), ("tray", "depth_shows_notice"),
        ("socket", "depth_other_display"), ("grabs", "depth_other_display"),
        ("button", "depth_other_display"), ("selects", "depth_other_display"),
        ("root", "depth_other_display"), ("single /tmp/greenroom-single", "depth_owns_name"),
        ("embeds parent", "depth_other_display"), ("plugs one", "depth_other_display"),
        ("forks", "depth_starts_programs"), ("ends", "depth_ended"), ("waits", "depth_timed_out"),
    ])
    func `a program that cannot be held pauses before main`(word: String, code: String) throws {
        try requireFreezer()
        var options = TestDaemon.Options()
        if word == "waits" { options.configuration = ["PauseDeadlineSec=4"] }
        let bench = try Bench("\(word) xlib one", options: options)
        let watch = bench.watch
        #expect(try bench.awaitDemotion() == code)
        let paused = try #require(try bench.daemon.awaitPaused(Self.app).first)
        #expect(paused.depth == .known(.main))
        #expect(try bench.screen.windows() == [])
        let client = try bench.client()
        #expect(try client.launch(Self.app).kind == .prewarmed)
        if word != "ends", word != "waits" { #expect(try watch.next() == "one") }
        let explanation = try client.explain(Self.app)
        #expect(explanation.reasons.contains { $0.text.contains("first window") })
    }

    /// PCManFM does this. The running process must not be told to show what nobody has asked for.
    @Test(arguments: [false, true])
    func `a program that would pass its launch to another process pauses before main`(
        afterUpgrade: Bool
    ) throws {
        try requireFreezer()
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o777)
        let first = try Bench("xlib one")
        let path = folder.path + "/socket"
        let programs = try TemporaryDirectory()
        chmod(programs.path, 0o755)
        let program = programs.path + "/program"
        func install() throws {
            let words = ["cp", "--remove-destination", try Screen.probe(), program]
            #expect(try run(ChildRequest("/bin/cp", arguments: words)).exit == .status(0))
        }
        try install()
        var request = ChildRequest(
            program, arguments: ["first", "single", path, "xlib", "first"],
            environment: ["DISPLAY=\(first.screen.display)"])
        request.user = windowUser
        let running = try ChildProcess(request)
        defer { running.kill(SIGKILL) }
        var title = try first.watch.next()
        while title != "first" { title = try first.watch.next() }
        if afterUpgrade { try install() }
        let second = try Bench("single \(path) xlib two", exec: program)
        #expect(try second.awaitDemotion() == "depth_name_taken")
        #expect(try second.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
        #expect(try second.screen.windows() == [])
    }

    /// GTK programs listen while a screen reader runs.
    @Test func `a program that listens for screen readers is held`() throws {
        try requireFreezer()
        let folder = try TemporaryDirectory()
        let own = folder.path + "/at-spi2-ABCDEF"
        mkdir(own, 0o777)
        for path in [folder.path, own] { chmod(path, 0o777) }
        let bench = try Bench("single \(own)/socket xlib one")
        let held = try bench.awaitHeld()
        #expect(try bench.client().launch(Self.app).instance == held.instance)
        #expect(try bench.watch.next() == "one")
    }

    /// The program would show the settings of the time of its prewarm, and might undo what another
    /// instance has written.
    @Test(arguments: [
        (".config/probe/settings", "access"), (".proberc", "reads"),
        (".config/absent/settings", "reads"), (".config/absent/settings", "access"),
        (".config/absent/settings", "stat"), (".config/absent/settings", "lstat"),
        (".config/absent/settings", "fstatat"), (".config/absent/settings", "statx"),
    ])
    func `a launch starts cold if a file of settings has changed`(name: String, way: String)
        throws
    {
        try requireFreezer()
        let home = try TemporaryDirectory()
        for folder in ["", "/.config", "/.config/probe"] {
            mkdir(home.path + folder, 0o777)
            chmod(home.path + folder, 0o777)
        }
        let isAbsent = name.contains("absent")
        if !isAbsent { _ = try home.write("old", to: name) }
        chmod(home.path + "/" + name, 0o666)
        let bench = try Bench(
            "\(way) \(home.path)/\(name) reads \(home.path)/.config/dconf/user xlib one",
            lines: ["Environment=HOME=\(home.path)"])
        let client = try bench.client()
        // Nothing has changed.
        let held = try bench.awaitHeld()
        let warm = try client.launch(Self.app)
        #expect(warm.kind == .prewarmed && warm.instance == held.instance)
        _ = try bench.daemon.await("another held window") { client in
            try client.paused(Self.app).first {
                $0.instance != held.instance && $0.areThreadsFrozen == true
            }
        }
        mkdir(home.path + "/.config/absent", 0o777)
        _ = try home.write("new", to: name)
        let cold = try client.launch(Self.app)
        #expect(cold.kind == .cold && cold.coldReason == .fileChanged)
        let last = try #require(try client.explain(Self.app).lastLaunch)
        #expect(last.coldReason == .known(.fileChanged))
        // The next one has read the new file.
        _ = try bench.daemon.await("a held window again") { client in
            try client.paused(Self.app).first { $0.areThreadsFrozen == true }
        }
        #expect(try client.launch(Self.app).kind == .prewarmed)
    }

    /// A program looks for its settings in folders that are made later, perhaps by another program.
    @Test(arguments: [".config", ".config/probe"])
    func `a folder that appears is no change, but a file in it is`(folder: String) throws {
        try requireFreezer()
        let name = ".config/probe/absent"
        let home = try TemporaryDirectory()
        chmod(home.path, 0o777)
        let bench = try Bench(
            "access \(home.path)/\(name) xlib one", lines: ["Environment=HOME=\(home.path)"])
        let client = try bench.client()
        func make(_ path: String) {
            mkdir(home.path + "/" + path, 0o777)
            chmod(home.path + "/" + path, 0o777)
        }
        if folder != ".config" { make(".config") }
        let held = try bench.awaitHeld()
        make(folder)
        let warm = try client.launch(Self.app)
        #expect(warm.kind == .prewarmed && warm.instance == held.instance)
        let next = try bench.daemon.await("another held window") { client in
            try client.paused(Self.app).first {
                $0.instance != held.instance && $0.areThreadsFrozen == true
            }
        }
        make(".config/probe")
        _ = try home.write("new", to: name)
        let cold = try client.launch(Self.app)
        #expect(cold.coldReason == .fileChanged && cold.instance != next.instance)
    }

    /// A file that the program has written itself is no change, but a later one is.
    @Test(arguments: [1, 2])
    func `a file that the program has replaced before its window is watched`(times: Int) throws {
        try requireFreezer()
        let home = try TemporaryDirectory()
        chmod(home.path, 0o777)
        let words = String(repeating: "replaces \(home.path)/.proberc ", count: times)
        let bench = try Bench("\(words)xlib one", lines: ["Environment=HOME=\(home.path)/"])
        let client = try bench.client()
        let held = try bench.awaitHeld()
        _ = try home.write("", to: "unrelated")
        let warm = try client.launch(Self.app)
        #expect(warm.kind == .prewarmed && warm.instance == held.instance)
        _ = try bench.daemon.await("another held window") { client in
            try client.paused(Self.app).first {
                $0.instance != held.instance && $0.areThreadsFrozen == true
            }
        }
        _ = try home.write("new", to: ".proberc")
        #expect(try client.launch(Self.app).coldReason == .fileChanged)
    }

    /// The file appears between the program's look and the watch of the file, or between that and
    /// the watch of the folder.
    @Test(arguments: [0, 1])
    func `a file that appears while the program looks for it is a change`(watchCount: Int) throws {
        try requireFreezer()
        let home = try TemporaryDirectory()
        chmod(home.path, 0o777)
        let name = "/.appearing"
        let bench = try Bench(
            "appears \(watchCount):\(home.path)\(name) xlib one",
            lines: ["Environment=HOME=\(home.path)"])
        _ = try bench.awaitHeld()
        #expect(access(home.path + name, F_OK) == 0)
        #expect(try bench.client().launch(Self.app).coldReason == .fileChanged)
    }

    /// A library may try a file again and again, and a program more files than are watched.
    @Test(arguments: [(300, 1), (1, 300)])
    func `many reads of files leave no change unseen`(files: Int, times: Int) throws {
        try requireFreezer()
        let home = try TemporaryDirectory()
        chmod(home.path, 0o777)
        let bench = try Bench(
            "many \(files)x\(times):\(home.path)/.absent xlib one",
            lines: ["Environment=HOME=\(home.path)"])
        _ = try bench.awaitHeld()
        let launched = try bench.client().launch(Self.app)
        #expect(launched.coldReason == (files == 1 ? nil : .fileChanged))
    }

    @Test func `a program that grabs touches by XI2 pauses before main`() throws {
        try requireFreezer()
        try requireOrSkip(findLibrary("libXi.so.6"), "no libXi: apt-get install libxi6")
        let bench = try Bench("touch xlib one")
        #expect(try bench.awaitDemotion() == "depth_other_display")
        #expect(try bench.screen.windows() == [])
    }

    /// The program's window is seen once, at the first prewarm.
    @Test func `a program that makes its own system calls is found out, and not held again`()
        throws
    {
        try requireFreezer()
        let bench = try Bench("raw xlib one")
        let watch = bench.watch
        #expect(try bench.awaitDemotion() == "depth_other_display")
        #expect(try watch.next() == "raw")
        #expect(try bench.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
        #expect(try bench.screen.windows() == [])
    }

    @Test(arguments: [("iconifies", "WM_CHANGE_STATE"), ("fills", "_NET_WM_STATE")])
    func `the window manager gets a wish when it has the window`(way: String, type: String)
        throws
    {
        try requireFreezer()
        let bench = try Bench("\(way) one", hearsMessages: true)
        let watch = bench.watch
        _ = try bench.awaitHeld()
        #expect(try bench.client().launch(Self.app).kind == .prewarmed)
        #expect(try watch.next() == "one")
        #expect(try watch.next() == "\(type) one")
    }

    /// A launcher's token says when the user acted. GTK gives that time to its window. Qt does not: a
    /// window of Qt has the time of its start, which Qt keeps on a window of its own for some window
    /// managers.
    @Test(arguments: [
        ("xlib", true, true), ("xlib", false, false), ("dated", true, false),
        ("dated", false, false), ("dated-apart", true, false), ("dated-apart", false, false),
    ])
    func `a window has the time that it has when the program starts cold`(
        word: String, hasToken: Bool, hasTime: Bool
    ) throws {
        try requireFreezer()
        let bench = try Bench("\(word) one")
        let watch = bench.watch
        _ = try bench.awaitHeld()
        let launched = try bench.client().launch(Self.app) {
            if hasToken { $0.environment = [.init(name: "DESKTOP_STARTUP_ID", value: "x_TIME1")] }
        }
        #expect(launched.kind == .prewarmed)
        #expect(try watch.next() == "one")
        let dates = try bench.screen.dates(of: "one")
        #expect(dates.identifier == (hasTime ? "x_TIME1" : "none"))
        if word == "xlib" {
            #expect(dates.time == (hasTime ? 1 : 0))
        } else {
            #expect(dates.time > 2)
        }
    }

    /// The program itself does not have the identifier of the launch.
    @Test func `clients that show a busy indicator hear that the program has started`() throws {
        try requireFreezer()
        let bench = try Bench("says xlib one", hearsMessages: true)
        let watch = bench.watch
        _ = try bench.awaitHeld()
        let launched = try bench.client().launch(Self.app) {
            $0.environment = [.init(name: "DESKTOP_STARTUP_ID", value: "a\"b")]
        }
        #expect(launched.kind == .prewarmed)
        #expect(try watch.next() == "one")
        #expect(try watch.next() == #"remove: ID="a\"b""#)
    }

    @Test func `a program of root pauses before main`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one", lines: ["User=0"])
        let client = try bench.daemon.client()
        #expect(try bench.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
        #expect(try client.explain(Self.app).reasons.contains { $0.code == "window_root" })
        #expect(try bench.screen.windows() == [])
    }

    @Test func `a program that ends while it is held is not held again`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        kill(held.processId!, SIGKILL)
        #expect(try bench.awaitDemotion() == "depth_ended_held")
        // No delay ends the refusal.
        let paused = try #require(try bench.daemon.awaitPaused(Self.app).first)
        #expect(paused.depth == .known(.main))
        #expect(try bench.client().launch(Self.app).kind == .prewarmed)
    }

    @Test func `a launch that the display does not answer goes on cold, and the next is held`()
        throws
    {
        try requireFreezer()
        // The program itself gives up.
        var options = TestDaemon.Options()
        options.configuration = ["StartDeadlineSec=1000"]
        let bench = try Bench("xlib one", options: options)
        let watch = bench.watch
        let held = try bench.awaitHeld()
        bench.screen.stop()
        let client = try bench.client()
        let launched = try client.launch(Self.app)
        bench.screen.resume()
        #expect(launched.kind == .cold && launched.instance != held.instance)
        let reasons = try client.explain(Self.app).reasons.map(\.code)
        #expect(!reasons.contains { $0.hasPrefix("depth_") }, "\(reasons)")
        #expect(try watch.next() == "one")
        #expect(try bench.awaitHeld().instance != held.instance)
        #expect(try bench.screen.windows() == ["one"])
    }

    @Test func `without a freezer no window is held`() throws {
        let screen = try Screen()
        var app = TestApp(
            Self.app, exec: "\(try Screen.probe()) xlib one", prewarm: 1, depth: "window")
        app.lines = ["Environment=DISPLAY=\(screen.display)"]
        let daemon = try TestDaemon(app, options: .asNobody)
        let code = try daemon.await("the end of the depth") { client in
            try client.explain(Self.app).reasons.map(\.code).first { $0.hasPrefix("depth_") }
        }
        #expect(code == "depth_not_frozen")
        #expect(try daemon.awaitPaused(Self.app).first?.depth == .known(.main))
        #expect(try screen.windows() == [])
    }

    @Test func `a window stays held when the daemon is killed, and its launch finds it`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one")
        let watch = bench.watch
        let held = try bench.awaitHeld()
        try bench.daemon.kill()
        #expect(try bench.screen.windows() == [])
        try bench.daemon.start()
        #expect(try bench.awaitHeld().instance == held.instance)
        #expect(try bench.screen.windows() == [])
        let launched = try bench.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try watch.next() == "one")
    }

    @Test func `the end of the X server ends the held window, and nothing else`() throws {
        try requireFreezer()
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        bench.screen.end()
        let client = try bench.client()
        // This is not known before the program runs. Then it cannot be launched at all, as in a
        // direct call.
        _ = try? client.launch(Self.app)
        _ = try client.wait(held.instance)
    }

    /// Compares the X server's own pictures. A blinking cursor would differ.
    @Test(arguments: ["kcalc", "xcalc", "galculator"])
    func `a real program looks as it does when it is launched cold`(name: String) throws {
        try requireFreezer()
        let program = findProgram(name)
        try requireOrSkip(program != nil, "no \(name)")
        let home = try TemporaryDirectory()
        chmod(home.path, 0o700)
        let lines = ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"].map {
            "Environment=\($0)=\(home.path)"
        }
        // There must be no bus. Without the last variable, libdbus would start one.
        let bench = try Bench(
            "", exec: program,
            lines: lines + [
                "Environment=NO_AT_BRIDGE=1",
                "Environment=DBUS_SESSION_BUS_ADDRESS=unix:path=\(home.path)/none",
            ])
        let client = try bench.client()
        let watch = bench.watch
        let empty = try bench.screen.picture()
        _ = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        #expect(try bench.screen.picture() == empty)
        let released = try client.launch(Self.app)
        #expect(released.kind == .prewarmed)
        _ = try watch.next()
        let expected = try bench.screen.settledPicture(other: empty)
        _ = try client.change(.terminate, released.instance)
        _ = try client.wait(released.instance)
        let cold = try client.launch(Self.app) {
            $0.environment = [.init(name: "ANYTHING", value: "else")]
        }
        #expect(cold.kind == .cold)
        _ = try watch.next()
        try bench.screen.await(picture: expected, of: name)
    }
}
