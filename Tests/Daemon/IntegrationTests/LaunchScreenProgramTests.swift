import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// greenroom-launchscreen on an X server and on a Wayland compositor: what a user sees while an app
/// starts, and what remains.
@Suite(.serialized) struct LaunchScreenProgramTests {
    private static let (slow, quick) = ("org.example.slow", "org.example.quick")
    private static let foreign = "org.example.foreign"
    private static let color: UInt32 = 0x1d3557
    private static let screenName = "Launch screen"
    /// In milliseconds. A screen disappears by itself after 10 seconds, and must be removed before
    /// that.
    private static let removalPatience: Int32 = 7000

    /// A daemon with an app that waits at a FIFO before it shows its window, and another that does
    /// not wait.
    private final class Bench {
        let folder: TemporaryDirectory
        let daemon: TestDaemon
        private(set) var presenter: ChildProcess
        private let display: [String]
        private let user: Int32?

        /// - Parameter show: the command that shows a window, without the window's name.
        init(
            _ display: [String], show: String, user: Int32? = nil, screen: String? = nil,
            lines: [String] = [], hasForeign: Bool = false, silent: String? = nil
        ) throws {
            (self.display, self.user) = (display, user)
            folder = try TemporaryDirectory()
            chmod(folder.path, 0o755)
            for name in ["gate", "quick-gate"] {
                #expect(mkfifo(folder.path + "/" + name, 0o666) == 0)
                chmod(folder.path + "/" + name, 0o666)
            }
            let file = try folder.write(
                screen ?? "[LaunchScreen]\nName=Slow\nColor=#1d3557\n", to: "app.screen")
            let gate = folder.path + "/gate"
            var apps = [
                TestApp(slow, exec: "/bin/sh -c 'read x <\(gate); exec \(show) one'"),
                TestApp(quick, exec: "\(show) two"),
            ]
            for index in apps.indices {
                apps[index].lines = display.map { "Environment=\($0)" } + lines
                if let user { apps[index].lines.append("User=\(user)") }
                apps[index].prewarmLines = ["[LaunchScreen]", "Default=\(file)"]
            }
            if hasForeign {
                var app = TestApp(foreign, exec: "/bin/sh -c 'read x <\(gate)'")
                app.lines = ["User=\(windowUser)"]
                app.prewarmLines = apps[0].prewarmLines
                apps.append(app)
            }
            daemon = try TestDaemon(apps)
            presenter = try Self.present(
                daemon, display, user, complaints: folder.path + "/said", silent: silent)
        }

        deinit { presenter.kill(SIGKILL) }

        /// Starts the program. Returns when no later launch can be missed.
        private static func present(
            _ daemon: TestDaemon, _ display: [String], _ user: Int32?, complaints: String,
            silent: String?
        ) throws -> ChildProcess {
            let program = try Programs.built("greenroom-launchscreen")
            let folder = try TemporaryDirectory()
            chmod(folder.path, 0o755)
            let ready = try DatagramSocket(boundAt: folder.path + "/ready", mode: 0o666)
            var request = ChildRequest(
                program,
                arguments: [program]
                    + [daemon.socketPath, silent].compactMap(\.self).flatMap { ["--socket", $0] },
                environment: display + [
                    "SWIFT_BACKTRACE=enable=no", "NOTIFY_SOCKET=\(folder.path)/ready",
                ])
            request.user = user
            let file = open(complaints, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
            defer { close(file) }
            request.descriptors[2] = file
            let process = try ChildProcess(request)
            guard try ready.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
                throw TestError("greenroom-launchscreen does not start")
            }
            return process
        }

        /// The lines that the program has said.
        func complaints() throws -> [Substring] {
            String(decoding: try readFile(folder.path + "/said"), as: UTF8.self).split(
                separator: "\n")
        }

        func openGate() { close(open(folder.path + "/gate", O_WRONLY)) }
    }

    private final class XBench {
        let screen: Screen
        let bench: Bench
        var daemon: TestDaemon { bench.daemon }

        /// - Parameters:
        ///   - hasForeign: whether another user has an app too.
        ///   - silent: the path of a daemon that does not answer.
        init(
            screen text: String? = nil, lines: [String] = [], hasForeign: Bool = false,
            silent: String? = nil
        ) throws {
            screen = try Screen()
            bench = try Bench(
                ["DISPLAY=\(screen.display)"], show: try Screen.probe() + " xlib", screen: text,
                lines: lines, hasForeign: hasForeign, silent: silent)
        }

        func awaitWindows(_ names: [String]) throws {
            var seen: [String] = []
            let isShown = names.contains(screenName)
            for _ in 0..<(isShown ? Patience.milliseconds : removalPatience) / 20 {
                seen = try screen.windows()
                if seen == names { return }
                poll(nil, 0, 20)
            }
            throw TestError("the windows are \(seen), not \(names)")
        }

        /// Whether these remain the only windows for several times the delay of a screen.
        func remain(_ names: [String]) throws -> Bool {
            for _ in 0..<20 {
                if try screen.windows() != names { return false }
                poll(nil, 0, 20)
            }
            return true
        }

        func awaitPixel(_ x: Int, _ y: Int, is color: UInt32) throws {
            var seen: UInt32 = 0
            for _ in 0..<(color == 0 ? removalPatience : Patience.milliseconds) / 20 {
                seen = Self.pixel(x, y, of: try screen.picture())
                if seen == color { return }
                poll(nil, 0, 20)
            }
            throw TestError("the pixel at \(x), \(y) is \(String(seen, radix: 16))")
        }

        /// A pixel of a picture in xwd(1)'s format, whose header consists of big-endian words.
        private static func pixel(_ x: Int, _ y: Int, of picture: [UInt8]) -> UInt32 {
            func word(_ number: Int) -> Int {
                picture[number * 4..<number * 4 + 4].reduce(0) { $0 << 8 | Int($1) }
            }
            let at = word(0) + word(19) * 12 + y * word(12) + x * 4
            return UInt32(picture[at]) | UInt32(picture[at + 1]) << 8 | UInt32(picture[at + 2])
                << 16
        }
    }

    @Test func `on X a screen is shown until the app's first window`() throws {
        let bench = try XBench()
        let instance = try bench.daemon.client().launch(Self.slow).instance
        for (x, y) in [(0, 0), (639, 0), (0, 479), (639, 479)] {
            try bench.awaitPixel(x, y, is: Self.color)
        }
        #expect(try bench.screen.windows() == [Self.screenName])
        bench.bench.openGate()
        try bench.awaitWindows(["one"])
        try bench.awaitPixel(639, 479, is: 0)
        #expect(try bench.daemon.client().instance(instance).exit == nil)
    }

    @Test func `on X a centred screen has its icon in the middle`() throws {
        let bench = try XBench(screen: "[LaunchScreen]\nIcon=a.pam\nColor=#1d3557\nSize=200x100\n")
        let icon =
            Array("P7\nWIDTH 20\nHEIGHT 20\nDEPTH 3\nMAXVAL 255\nENDHDR\n".utf8)
            + Array(repeating: [9, 8, 7], count: 400).joined()
        let file = open(bench.bench.folder.path + "/a.pam", O_WRONLY | O_CREAT, 0o644)
        #expect(write(file, icon, icon.count) == icon.count)
        close(file)
        _ = try bench.daemon.client().launch(Self.slow)
        try bench.awaitPixel(320, 240, is: 0x090807)
        try bench.awaitPixel(221, 191, is: Self.color)
        try bench.awaitPixel(418, 288, is: Self.color)
        try bench.awaitPixel(218, 240, is: 0)
    }

    @Test func `on X no screen is shown for an app whose window appears at once`() throws {
        let bench = try XBench()
        let watch = try bench.screen.watch()
        // The program learns of the launch and of the window together.
        bench.bench.presenter.kill(SIGSTOP)
        _ = try bench.daemon.client().launch(Self.quick)
        #expect(try watch.next() == "two")
        bench.bench.presenter.kill(SIGCONT)
        #expect(try bench.remain(["two"]))
        _ = try bench.daemon.client().launch(Self.slow)
        #expect(try watch.next() == Self.screenName)
        bench.bench.openGate()
        #expect(try watch.next() == "one")
    }

    @Test func `on X nothing remains of an app that ends, of the daemon or of the program`() throws
    {
        let bench = try XBench()
        let client = try bench.daemon.client()
        let first = try client.launch(Self.slow).instance
        try bench.awaitWindows([Self.screenName])
        _ = try client.change(.terminate, first)
        try bench.awaitWindows([])
        _ = try client.launch(Self.slow)
        try bench.awaitWindows([Self.screenName])
        let pid = bench.bench.presenter.pid
        let fileCount = KernelObjects.openFiles(of: pid).count
        try bench.daemon.kill()
        try bench.awaitWindows([])
        try bench.daemon.start()
        bench.bench.openGate()
        try bench.awaitWindows(["one"])
        let next = try bench.daemon.client()
        for status in try next.instances(of: Self.slow) where status.exit == nil {
            _ = try next.change(.terminate, status.instance)
        }
        try bench.awaitWindows([])
        try Processes.wait("the program does not find the next daemon") {
            KernelObjects.openFiles(of: pid).count == fileCount
        }
        _ = try next.launch(Self.slow)
        try bench.awaitWindows([Self.screenName])
        bench.bench.presenter.kill(SIGKILL)
        try bench.awaitWindows([])
    }

    @Test func `on X another user's launch neither shows a screen nor ends one`() throws {
        try requireOrSkip(getuid() == 0, "only root can run apps as another user")
        // The program may observe all apps.
        let bench = try XBench(hasForeign: true)
        let client = try bench.daemon.client()
        let own = try client.launch(Self.slow).instance
        try bench.awaitWindows([Self.screenName])
        let foreign = try client.launch(Self.foreign).instance
        // Another launch by the same user would remove this screen before it shows the next.
        #expect(try bench.remain([Self.screenName]))
        _ = try client.change(.terminate, own)
        try bench.awaitWindows([])
        #expect(try bench.remain([]))
        #expect(try client.instance(foreign).exit == nil)
    }

    @Test func `on X a daemon that does not answer delays no screen`() throws {
        let folder = try TemporaryDirectory()
        let silent = try UnixSocket.listen(
            at: folder.path + "/silent", .stream, mode: 0o600)
        let bench = try XBench(silent: folder.path + "/silent")
        let client = try bench.daemon.client()
        for _ in 0..<3 {
            let begin = MonotonicClock.nanoseconds
            let instance = try client.launch(Self.slow).instance
            try bench.awaitWindows([Self.screenName])
            _ = try client.change(.terminate, instance)
            try bench.awaitWindows([])
            // This is less than the time for which a call waits for its reply.
            #expect(MonotonicClock.nanoseconds - begin < 4_000_000_000)
        }
        withExtendedLifetime(silent) {}
    }

    @Test func `on X a click removes the screen, and a client's made-up click does not`() throws {
        let clicker = findProgram("xdotool")
        try requireOrSkip(clicker != nil, "no xdotool: apt-get install xdotool")
        let bench = try XBench()
        func click(_ words: String...) throws {
            let clicked = try run(
                ChildRequest(
                    clicker!, arguments: [clicker!] + words,
                    environment: ["DISPLAY=\(bench.screen.display)"]))
            #expect(clicked.exit == .status(0))
        }
        _ = try bench.daemon.client().launch(Self.slow)
        try bench.awaitPixel(10, 10, is: Self.color)
        // Sent to a window, it is made up (SendEvent).
        try click("search", "--name", Self.screenName, "click", "--window", "%1", "1")
        // The server has sent the click before it answers this, and has woken the reader.
        _ = try bench.screen.windows()
        try Processes.awaitSleep(of: bench.bench.presenter.pid)
        #expect(try bench.screen.windows() == [Self.screenName])
        try click("mousemove", "320", "240", "click", "1")
        try bench.awaitWindows([])
    }

    @Test func `on X a flood of launches leaves one screen, and nothing after it`() throws {
        let bench = try XBench(lines: ["Instances=multiple"])
        let client = try bench.daemon.client()
        let pid = bench.bench.presenter.pid
        // The program says that it is ready through a socket, which it may not have closed yet when
        // this is heard. A screen comes and goes after that.
        let first = try client.launch(Self.slow).instance
        try bench.awaitWindows([Self.screenName])
        _ = try client.change(.terminate, first)
        try bench.awaitWindows([])
        let fileCount = KernelObjects.openFiles(of: pid).count
        var instances: [UInt64] = []
        for _ in 0..<40 { instances.append(try client.launch(Self.slow).instance) }
        try bench.awaitWindows([Self.screenName])
        for instance in instances.dropLast() { _ = try client.change(.terminate, instance) }
        #expect(try bench.screen.windows() == [Self.screenName])
        _ = try client.change(.terminate, instances[39])
        try bench.awaitWindows([])
        #expect(KernelObjects.openFiles(of: pid).count == fileCount)
    }

    @Test func `on X a hostile screen shows nothing and harms no later one`() throws {
        let bench = try XBench()
        let client = try bench.daemon.client()
        let file = bench.bench.folder.path + "/app.screen"
        func launchAndAwait(_ complaint: String, count: Int) throws {
            let instance = try client.launch(Self.slow).instance
            try Processes.wait("it does not say \(complaint)") {
                let said = (try? bench.bench.complaints()) ?? []
                return said.count == count && said.last?.contains(complaint) == true
            }
            _ = try client.change(.terminate, instance)
        }
        // The file changes after the daemon has looked at it.
        for (index, (text, complaint)) in [
            ("[LaunchScreen]\nIcon=gate\n", "is not a file"),
            ("[LaunchScreen]\nIcon=/dev/zero\n", "is not a file"),
            ("[LaunchScreen]\nIcon=app.screen\n", "not a PAM picture"), ("\u{0}", "app.screen:1"),
        ].enumerated() {
            try bench.bench.folder.write(text, to: "app.screen")
            try launchAndAwait(complaint, count: index + 1)
        }
        unlink(file)
        #expect(mkfifo(file, 0o666) == 0)
        try launchAndAwait("is not a file", count: 5)
        #expect(try bench.screen.windows() == [])
        unlink(file)
        try bench.bench.folder.write("[LaunchScreen]\nName=Right\n", to: "app.screen")
        _ = try client.launch(Self.slow)
        try bench.awaitWindows([Self.screenName])
    }

    @Test func `the program ends with the X server, and complains if there is no display`() throws {
        let bench = try XBench()
        bench.screen.end()
        #expect(try bench.bench.presenter.waitForExit() == .status(0))
        let program = try Programs.built("greenroom-launchscreen")
        for (environment, words) in [
            ([], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
            (["DISPLAY=:4711"], "/tmp/.X11-unix/X4711"),
            (["WAYLAND_DISPLAY=/nonexistent/w", "DISPLAY=:4711"], "/nonexistent/w"),
        ] {
            let ended = try run(
                ChildRequest(program, arguments: [program], environment: environment),
                mergingErrors: true)
            #expect(ended.exit == .status(69))
            #expect(String(decoding: ended.output, as: UTF8.self).contains(words))
        }
    }

    @Test func `on a compositor of wlroots a screen is shown until the first window`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let grim = findProgram("grim")
        try requireOrSkip(grim != nil, "no grim: apt-get install grim")
        let compositor = try Compositor()
        let bench = try Bench(
            compositor.variables, show: try Compositor.probe() + " flags", user: windowUser)
        func corner() throws -> [UInt8] {
            var request = ChildRequest(
                grim!, arguments: [grim!, "-g", "0,0 1x1", "-t", "ppm", "-"],
                environment: compositor.variables)
            request.user = windowUser
            return Array(try run(request).output.suffix(3))
        }
        func awaitCorner(
            _ description: String, milliseconds: Int32 = Self.removalPatience,
            _ isMeant: ([UInt8]) -> Bool
        ) throws {
            for _ in 0..<milliseconds / 50 {
                if isMeant(try corner()) { return }
                poll(nil, 0, 50)
            }
            throw TestError("the corner is not \(description), but \(try corner())")
        }
        let client = try bench.daemon.client()
        let screen: [UInt8] = [0x1d, 0x35, 0x57]
        _ = try client.launch(Self.slow)
        try awaitCorner("the screen's", milliseconds: Patience.milliseconds) { $0 == screen }
        #expect(try compositor.windows() == [])
        bench.openGate()
        try awaitCorner("free") { $0 != screen && $0.count == 3 }
        #expect(try compositor.windows() == ["one"])
        for status in try client.instances(of: Self.slow) where status.exit == nil {
            _ = try client.change(.terminate, status.instance)
        }
        // The objects of the screen can be made again, and a killed program leaves nothing.
        _ = try client.launch(Self.slow)
        try awaitCorner("the screen's again") { $0 == screen }
        bench.presenter.kill(SIGKILL)
        try awaitCorner("free again") { $0 != screen && $0.count == 3 }
    }
}
