import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing
import Varlink

/// `greenroomctl measure --windows`: a desktop program is launched on a screen, a bus and a home
/// that end with the measurement.
@Suite struct MeasureWindowsTests {
    private static let app = "org.example.window"
    private let folder: TemporaryDirectory
    init() throws {
        folder = try TemporaryDirectory()
        // The app's user must pass through this folder to its own folder inside.
        chmod(folder.path, 0o711)
    }

    private func request(
        _ program: String, path: String = "/usr/bin:/bin", _ words: [String] = [],
        profiles: [String: String] = [:]
    ) throws -> (request: ChildRequest, daemon: TestDaemon) {
        var options = TestDaemon.Options()
        options.profiles = profiles
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, "User=\(windowUser)", depth: "none"),
            options: options)
        let client = try Programs.client
        let request = ChildRequest(
            client,
            arguments: [
                client, "measure", Self.app, "--socket", daemon.socketPath, "--windows", "--yes",
                "--rounds", "3",
            ] + words,
            environment: [
                "PATH=\(path)", "TMPDIR=\(folder.path)", "HOME=/root", "LANG=C.UTF-8",
            ])
        return (request, daemon)
    }

    private func measure(
        _ program: String, path: String = "/usr/bin:/bin", _ words: [String] = [],
        profiles: [String: String] = [:]
    ) throws -> (exit: ChildProcess.Exit, text: String, daemon: TestDaemon) {
        let (request, daemon) = try request(program, path: path, words, profiles: profiles)
        let (exit, output) = try run(request, mergingErrors: true)
        return (exit, String(decoding: output, as: UTF8.self), daemon)
    }

    private static let needs = [
        "x11": ["Xvfb"], "wayland": ["sway", "swaymsg", "grim"],
        "": ["dbus-daemon", "dbus-send", "setpriv"],
    ]
    private static let servers = ["x11": ["Xvfb"], "wayland": ["sway", "swaymsg"]]

    private func requireScreen(_ kind: String = "x11") throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
        for name in Self.needs[kind]! + Self.needs[""]! {
            try requireOrSkip(findProgram(name) != nil, "no \(name)")
        }
    }

    /// A folder with only what a screen of this kind needs, to be a search path.
    private func tools(_ kind: String) throws -> TemporaryDirectory {
        let tools = try TemporaryDirectory()
        chmod(tools.path, 0o755)
        for name in Self.needs[kind]! + Self.needs[""]! {
            if let program = findProgram(name) { symlink(program, "\(tools.path)/\(name)") }
        }
        return tools
    }

    private func launches(_ report: JSONValue) -> [String] {
        guard case .array(let results)? = report["results"] else { return [] }
        return results.compactMap {
            guard case .string(let screen)? = $0["screen"], case .string(let way)? = $0["launched"],
                case .array(let times)? = $0["windowUSec"]
            else { return nil }
            return "\(screen) \(way) \(times.count)"
        }
    }

    private func texts(_ value: JSONValue?) -> [String] {
        guard case .array(let values)? = value else { return [] }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// A drop-in would hold it on Wayland, too.
    @Test func `a program that can be held on X11 gets the lines of a profile`() throws {
        try requireScreen()
        let program = findProgram("xcalc", "galculator", "kcalc")
        try requireOrSkip(program != nil, "no xcalc, galculator or kcalc")
        let tools = try tools("x11")
        let (exit, whole, daemon) = try measure(program!, path: tools.path, ["--json", "--apply"])
        try #require(exit == .status(0), "\(whole)")
        #expect(whole.contains("nothing is written, because Depth=window"), "\(whole)")
        let text = String(try #require(whole.split(separator: "\n").first { $0.hasPrefix("{") }))
        let report = try JSONValue(parsing: text)
        #expect(texts(report["refusals"]) == [], "\(text)")
        #expect(
            texts(report["lines"]) == [
                "[Profile]", "Program=\"\(program!)\"", "Window=yes", "Display=x11",
                "Tested=greenroomctl measure --windows: x11",
            ])
        #expect(launches(report).first == "x11 cold 3" && launches(report).last == "x11 window 3")
        #expect(
            texts(report["notMeasured"]) == [
                "on Wayland, which needs sway (in Debian, apt install sway grim)"
            ])
        #expect(access("\(daemon.appDirectory)/\(Self.app).app.d", F_OK) != 0)
        // The screen, the bus, the home and the daemon are gone.
        #expect(try FolderContents.names(in: folder.path).isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a program is measured on each screen on which it shows a window`() throws {
        try requireScreen()
        try requireScreen("wayland")
        let program = findProgram("galculator", "mousepad", "kcalc")
        try requireOrSkip(program != nil, "no galculator, mousepad or kcalc")
        let (exit, text, daemon) = try measure(program!, ["--json", "--apply"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(parsing: text)
        #expect(texts(report["refusals"]) == [], "\(text)")
        #expect(
            texts(report["lines"]).last == "Tested=greenroomctl measure --windows: x11, wayland")
        let launches = launches(report)
        for launch in ["x11 cold 3", "x11 window 3", "wayland cold 3", "wayland window 3"] {
            #expect(launches.contains(launch), "\(launches)")
        }
        let written = try readFile("\(daemon.appDirectory)/\(Self.app).app.d/measured.conf")
        #expect(String(decoding: written, as: UTF8.self).contains("[Prewarm]\nDepth=window\n"))
        #expect(try FolderContents.names(in: folder.path).isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a program of X11 only is not measured on Wayland`() throws {
        try requireScreen()
        try requireScreen("wayland")
        let program = findProgram("xcalc")
        try requireOrSkip(program != nil, "no xcalc: apt-get install x11-apps")
        let (exit, text, _) = try measure(program!)
        try #require(exit == .status(0), "\(text)")
        #expect(
            text.contains("Not measured on Wayland, where it showed no window.\n"), "\(text)")
        #expect(text.contains("Tested=greenroomctl measure --windows: x11\n"), "\(text)")
    }

    @Test func `a screen that cannot be started is left out`() throws {
        try requireScreen()
        try requireScreen("wayland")
        let program = findProgram("xcalc", "galculator", "kcalc")
        try requireOrSkip(program != nil, "no xcalc, galculator or kcalc")
        let tools = try TemporaryDirectory()
        chmod(tools.path, 0o755)
        _ = try tools.write("#!/bin/sh\nexit 1\n", to: "sway", mode: 0o755)
        let (exit, text, _) = try measure(program!, path: "\(tools.path):/usr/bin:/bin")
        try #require(exit == .status(0), "\(text)")
        #expect(
            text.contains("Not measured on Wayland, which could not be started: starting "),
            "\(text)")
        #expect(
            text.contains("Display=x11\n    Tested=greenroomctl measure --windows: x11\n"),
            "\(text)")
    }

    @Test func `a program whose window is seen only once is refused`() throws {
        try requireScreen()
        let program = findProgram("xcalc", "galculator", "kcalc")
        try requireOrSkip(program != nil, "no xcalc, galculator or kcalc")
        let tools = try tools("x11")
        let once = try tools.write(
            "#!/bin/sh\nmkdir $HOME/started || exit 0\nexec \(program!)\n", to: "once",
            mode: 0o755)
        let (exit, text, _) = try measure(once, path: tools.path, ["--apply"])
        #expect(exit == .status(0))
        #expect(text.contains("its window was not seen at a second launch"), "\(text)")
        #expect(text.contains("nothing is written"), "\(text)")
    }

    @Test func `a program that does not show its window at each launch is refused`() throws {
        try requireScreen()
        let tools = try tools("x11")
        let (exit, text, _) = try measure(
            "\(try Screen.probe()) fickle one", path: tools.path, ["--apply"])
        #expect(exit == .status(0))
        // A busy machine may add one.
        #expect(
            text.contains(/[1-3] of 4 launches were not served by the held window/), "\(text)")
        #expect(text.contains("nothing is written"), "\(text)")
    }

    @Test func `a program that starts others is refused with the daemon's reason`() throws {
        try requireScreen()
        let tools = try tools("x11")
        let (exit, text, _) = try measure(
            "\(try Screen.probe()) forks xlib one", path: tools.path, ["--apply"])
        #expect(exit == .status(0))
        #expect(text.contains("Verdict: it is not to be held at its first window"), "\(text)")
        #expect(text.contains("it starts other programs before it has a window"), "\(text)")
        #expect(text.contains("nothing is written"), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
    }

    /// Nobody has these addresses (RFC 5737, RFC 3849), and no part of a host's name is that long. All
    /// sockets are closed before the window.
    @Test func `hosts that a program reached before its window are told`() throws {
        try requireScreen()
        let tools = try tools("x11")
        let label = String(repeating: "x", count: 64)
        let (exit, text, _) = try measure(
            "\(try Screen.probe()) connects 192.0.2.1 sends 192.0.2.2 sends 192.0.2.2 "
                + "connects 2001:db8::1 sends 127.0.0.1 connects ::1 asks-for localhost "
                + "asks-for 127.0.0.1 asks-for \(label) leaves mark xlib one",
            path: tools.path, ["--json"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(
            parsing: String(try #require(text.split(separator: "\n").first { $0.hasPrefix("{") })))
        #expect(
            texts(report["connections"]) == [
                "name \(label)", "tcp 192.0.2.1:7", "tcp [2001:db8::1]:7", "udp 192.0.2.2:7",
            ])
        #expect(texts(report["temporaryFiles"]) == ["$TMPDIR/mark", "$XDG_RUNTIME_DIR/mark"])
        // So small a program need not appear sooner on a busy machine.
        #expect(texts(report["refusals"]).contains("it reaches the network before its window"))
    }

    @Test(arguments: [SIGINT, SIGQUIT, SIGKILL], ["x11", "wayland"])
    func `the servers have no terminal, and end with a measurement that a signal ends`(
        signal: Int32, kind: String
    ) throws {
        try requireScreen(kind)
        let program = findProgram("galculator", "kcalc", "mousepad")
        try requireOrSkip(program != nil, "no galculator, kcalc or mousepad")
        let tools = try tools(kind)
        let (request, daemon) = try request(program!, path: tools.path)
        let measuring = try ChildProcess(request)
        func processes() -> [Int32] {
            Processes.mentioning(folder.path).filter { $0 != measuring.pid }
        }
        func named(_ name: String) -> Int32? {
            processes().first { Processes.line("Name", of: $0)?.hasSuffix(name) == true }
        }
        try Processes.wait("no daemon was started") { named("greenroomd") != nil }
        for name in Self.servers[kind]! + ["dbus-daemon"] {
            let server = try #require(named(name))
            #expect(Processes.session(of: server) == server)
            #expect(Processes.line("NoNewPrivs", of: server)?.hasSuffix("1") == true)
            #expect(Processes.user(of: server) == UInt32(windowUser))
        }
        kill(measuring.pid, signal)
        #expect(try measuring.waitForExit() == .signal(signal))
        for process in processes() { try Processes.awaitEnd(of: process) }
        // After SIGKILL, nobody is left to remove the folder.
        if signal != SIGKILL { #expect(try FolderContents.names(in: folder.path).isEmpty) }
        withExtendedLifetime(daemon) {}
    }

    /// The screen's file and the server's answers come from the other user.
    @Test(arguments: [
        ("truncate -s 1T $screen; echo 7", "reading the screen"),
        ("ln -s /etc/passwd $screen; echo 7", "Xvfb_screen0"),
        ("truncate -s 6M $screen; echo 123456", "starting"),
        ("truncate -s 6M $screen; echo ../7", "starting"),
        ("tr '\\0' x </dev/zero", "starting"),
    ])
    func `false answers and files of a hostile X server end the measurement`(
        script: String, complaint: String
    ) throws {
        try requireScreen()
        let tools = try TemporaryDirectory()
        chmod(tools.path, 0o755)
        _ = try tools.write(
            "#!/bin/sh\nfor folder; do :; done\nscreen=$folder/Xvfb_screen0\n\(script)\n"
                + "exec sleep 1000\n",
            to: "Xvfb", mode: 0o755)
        let (exit, text, _) = try measure("/bin/true", path: "\(tools.path):/usr/bin:/bin")
        #expect(exit != .status(0))
        #expect(text.contains(complaint), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    /// All three programs run as the other user, so what they say is the other user's.
    @Test(arguments: [
        ("sway", "echo ../7", "starting"),
        ("sway", "tr '\\0' x </dev/zero", "starting"),
        ("swaymsg", "exit 1", "starting"),
        ("swaymsg", "echo; tr '\\0' x </dev/zero", "watching the windows"),
        ("swaymsg", "echo; exit 1", "watching the windows"),
        ("swaymsg", "echo; yes ''", "showed no window"),
        ("grim", "exit 1", "reading the screen"),
        ("grim", "tr '\\0' x </dev/zero", "reading the screen"),
    ])
    func `what a hostile compositor says and shows ends the measurement`(
        name: String, script: String, complaint: String
    ) throws {
        try requireScreen("wayland")
        let tools = try tools("wayland")
        unlink("\(tools.path)/\(name)")
        _ = try tools.write("#!/bin/sh\n\(script)\nexec sleep 1000\n", to: name, mode: 0o755)
        let (exit, text, _) = try measure("/bin/true", path: tools.path)
        #expect(exit != .status(0))
        #expect(text.contains(complaint), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a program that a profile forbids is not run`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let (exit, text, _) = try measure(
            "/bin/true",
            profiles: [
                "never-true.conf": "[Profile]\nWindow=never\nReason=it sings\nProgram=true\n"
            ])
        #expect(exit != .status(0))
        #expect(text.contains("it is not to be held at its first window: it sings"), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
    }

    @Test func `without a server of windows, the error says what to install`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let (exit, text, _) = try measure("/bin/true", path: folder.path)
        #expect(exit != .status(0))
        #expect(
            text.contains("X11 needs Xvfb (in Debian, apt install xvfb)")
                && text.contains("Wayland needs sway (in Debian, apt install sway grim)"), "\(text)"
        )
        #expect(try FolderContents.names(in: folder.path).isEmpty)
    }

    @Test func `a program of root is not measured`() throws {
        try requireOrSkip(getuid() == 0, "only root's daemon runs programs of root")
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/bin/true"))
        let client = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                client,
                arguments: [
                    client, "measure", Self.app, "--socket", daemon.socketPath, "--windows",
                    "--yes",
                ], environment: ["PATH=/usr/bin:/bin", "TMPDIR=\(folder.path)", "HOME=/root"]),
            mergingErrors: true)
        #expect(exit != .status(0))
        #expect(
            String(decoding: output, as: UTF8.self).contains("whose programs are not held"))
    }
}
