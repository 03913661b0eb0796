import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// greenroom-launchscreen on an X server and on a Wayland compositor: what a user sees while an app
/// starts, and what remains.
@Suite(.serialized) struct LaunchScreenProgramTests {
    private static let (slow, quick) = (LaunchScreenBench.slow, LaunchScreenBench.quick)
    private static let foreign = LaunchScreenBench.foreign
    private static let color = LaunchScreenBench.color
    private static let screenName = LaunchScreenBench.screenName

    @Test func `on X a screen is shown until the app's first window`() throws {
        let bench = try LaunchScreenXBench()
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
        let bench = try LaunchScreenXBench(
            screen: "[LaunchScreen]\nIcon=a.pam\nColor=#1d3557\nSize=200x100\n")
        bench.bench.writeIcon("a.pam", side: 20, [9, 8, 7])
        _ = try bench.daemon.client().launch(Self.slow)
        try bench.awaitPixel(320, 240, is: 0x090807)
        try bench.awaitPixel(221, 191, is: Self.color)
        try bench.awaitPixel(418, 288, is: Self.color)
        try bench.awaitPixel(218, 240, is: 0)
    }

    @Test func `on X no screen is shown for an app whose window appears at once`() throws {
        let bench = try LaunchScreenXBench()
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

    @Test func `on X a client that changes a property without a pause keeps no screen`() throws {
        let bench = try LaunchScreenXBench()
        _ = try bench.daemon.client().launch(Self.slow)
        try bench.awaitWindows([Self.screenName])
        let flood = try bench.screen.flood("_NET_CLIENT_LIST")
        bench.bench.openGate()
        try bench.awaitWindows(["one"])
        #expect(
            Processes.residentByteCount(of: bench.bench.presenter.pid) < Processes.smallByteCount)
        flood.kill(SIGKILL)
    }

    @Test func `on X nothing remains of an app that ends, of the daemon or of the program`() throws
    {
        let bench = try LaunchScreenXBench()
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
        // The program is connected, but the daemon may serve another client first.
        try Processes.wait("no screen is shown by the next daemon") {
            let instance = try next.launch(Self.slow).instance
            if try bench.shows(Self.screenName) { return true }
            _ = try next.change(.terminate, instance)
            return false
        }
        bench.bench.presenter.kill(SIGKILL)
        try bench.awaitWindows([])
    }

    @Test func `on X another user's launch neither shows a screen nor ends one`() throws {
        try requireOrSkip(getuid() == 0, "only root can run apps as another user")
        // The program may observe all apps.
        let bench = try LaunchScreenXBench(hasForeign: true)
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
        let bench = try LaunchScreenXBench(silent: folder.path + "/silent")
        let client = try bench.daemon.client()
        var shortest = UInt64.max
        for _ in 0..<3 {
            let begin = MonotonicClock.nanoseconds
            let instance = try client.launch(Self.slow).instance
            try bench.awaitWindows([Self.screenName])
            _ = try client.change(.terminate, instance)
            try bench.awaitWindows([])
            shortest = min(shortest, MonotonicClock.nanoseconds - begin)
        }
        // This is less than the time for which a call waits for its reply. On a busy machine, a round
        // may take longer by itself; a program that waits would wait in each.
        #expect(shortest < 4_000_000_000)
        withExtendedLifetime(silent) {}
    }

    @Test func `on X a click removes the screen, and a client's made-up click does not`() throws {
        let clicker = findProgram("xdotool")
        try requireOrSkip(clicker != nil, "no xdotool: apt-get install xdotool")
        let bench = try LaunchScreenXBench()
        func click(_ words: String...) throws {
            let clicked = try run(
                ChildRequest(
                    clicker!, arguments: [clicker!] + words,
                    environment: ["DISPLAY=\(bench.screen.display)"]))
            #expect(clicked.exit == .status(0))
        }
        _ = try bench.daemon.client().launch(Self.slow)
        try bench.awaitPixel(10, 10, is: Self.color)
        // A click that is sent to a window is a synthetic one (SendEvent).
        try click("search", "--name", Self.screenName, "click", "--window", "%1", "1")
        // The server has sent the click before it answers this, and has woken the reader.
        _ = try bench.screen.windows()
        try Processes.awaitSleep(of: bench.bench.presenter.pid)
        #expect(try bench.screen.windows() == [Self.screenName])
        try click("mousemove", "320", "240", "click", "1")
        try bench.awaitWindows([])
    }

    @Test func `on X a flood of launches leaves one screen, and nothing after it`() throws {
        let bench = try LaunchScreenXBench(lines: ["Instances=multiple"])
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
        let bench = try LaunchScreenXBench()
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
        let bench = try LaunchScreenXBench()
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
        let compositor = try Compositor()
        let bench = try LaunchScreenBench(
            compositor.variables, show: try Compositor.probe() + " flags", user: windowUser)
        func awaitCorner(
            _ description: String, milliseconds: Int32 = LaunchScreenBench.removalPatience,
            _ isMeant: (UInt32) -> Bool
        ) throws {
            var seen: UInt32 = 0
            for _ in 0..<milliseconds / 50 {
                seen = try compositor.picture(of: "HEADLESS-1").pixel(0, 0)
                if isMeant(seen) { return }
                poll(nil, 0, 50)
            }
            throw TestError("the corner is not \(description), but \(String(seen, radix: 16))")
        }
        let client = try bench.daemon.client()
        _ = try client.launch(Self.slow)
        try awaitCorner("the screen's", milliseconds: Patience.milliseconds) { $0 == Self.color }
        #expect(try compositor.windows() == [])
        bench.openGate()
        try awaitCorner("free") { $0 != Self.color }
        #expect(try compositor.windows() == ["one"])
        for status in try client.instances(of: Self.slow) where status.exit == nil {
            _ = try client.change(.terminate, status.instance)
        }
        // The objects of the screen can be made again, and a killed program leaves nothing.
        _ = try client.launch(Self.slow)
        try awaitCorner("the screen's again") { $0 == Self.color }
        bench.presenter.kill(SIGKILL)
        try awaitCorner("free again") { $0 != Self.color }
    }
}
