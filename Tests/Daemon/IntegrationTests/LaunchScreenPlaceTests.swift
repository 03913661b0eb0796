import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Where greenroom-launchscreen shows a screen, and how large: on which monitor, at which scale, and
/// below what.
@Suite(.serialized) struct LaunchScreenPlaceTests {
    private static let slow = LaunchScreenBench.slow
    private static let color = LaunchScreenBench.color
    private static let screenName = LaunchScreenBench.screenName
    private static let withIcon = "[LaunchScreen]\nIcon=a.pam\nColor=#1d3557\nSize=200x100\n"

    // MARK: X11

    @Test func `on X a screen covers the monitor that has the pointer`() throws {
        let bench = try LaunchScreenXBench()
        let client = try bench.daemon.client()
        for (name, geometry) in [
            ("left", "320/80x480/120+0+0 screen"), ("right", "320/80x480/120+320+0 none"),
        ] {
            let words = geometry.split(separator: " ").map(String.init)
            try bench.screen.execute(
                "xrandr", package: "x11-xserver-utils", "--setmonitor", name, words[0], words[1])
        }
        for (pointer, own, other) in [(500, 320, 319), (100, 319, 320), (320, 320, 319)] {
            try bench.screen.execute(
                "xdotool", package: "xdotool", "mousemove", "\(pointer)", "240")
            let instance = try client.launch(Self.slow).instance
            try bench.awaitPixel(own, 479, is: Self.color)
            try bench.awaitPixel(own < other ? 0 : 639, 0, is: Self.color)
            #expect(try bench.pixel(other, 479) == 0)
            _ = try client.change(.terminate, instance)
            try bench.awaitWindows([])
        }
    }

    @Test(arguments: ["resources", "manager"])
    func `on X a screen has the scale of the desktop`(way: String) throws {
        let bench = try LaunchScreenXBench(screen: Self.withIcon)
        bench.bench.writeIcon("a.pam", side: 20, [9, 8, 7])
        let (input, output) = (try Pipe(), try Pipe())
        var manager: ChildProcess?
        if way == "resources" {
            try bench.screen.change("resources", "192")
        } else {
            manager = try bench.screen.settingsManager(
                input: input.readEnd, output: output.writeEnd)
            let line = Array("Gdk/WindowScalingFactor 2\n".utf8)
            #expect(write(input.writeEnd, line, line.count) == line.count)
            #expect(try readLine(output.readEnd) == "set")
        }
        _ = try bench.daemon.client().launch(Self.slow)
        for (x, y) in [(301, 221), (338, 258)] { try bench.awaitPixel(x, y, is: 0x090807) }
        for (x, y) in [(297, 240), (121, 141), (518, 338)] {
            #expect(try bench.pixel(x, y) == Self.color)
        }
        #expect(try bench.pixel(118, 240) == 0)
        withExtendedLifetime(manager) {}
    }

    @Test(arguments: [false, true])
    func `on X a screen is above windows and below a screen locker`(hasManager: Bool) throws {
        let bench = try LaunchScreenXBench()
        let client = try bench.daemon.client()
        let manager = hasManager ? try bench.screen.manage(in: bench.bench.folder.path) : nil
        // Without a managed window, with one, and with a locker that comes first or last.
        let first = try client.launch(Self.slow).instance
        try bench.awaitWindows([Self.screenName])
        let early = try bench.screen.show("splash", "locker")
        try bench.awaitWindows([Self.screenName, "locker"])
        _ = try client.change(.terminate, first)
        try bench.awaitWindows(["locker"])
        let second = try client.launch(Self.slow).instance
        try bench.awaitWindows([Self.screenName, "locker"])
        _ = try client.change(.terminate, second)
        early.kill(SIGKILL)
        try bench.awaitWindows([])
        let window = try bench.screen.show("xlib", "other")
        try bench.awaitWindows(["other"])
        let late = try bench.screen.show("splash", "locker")
        try bench.awaitWindows(["other", "locker"])
        _ = try client.launch(Self.slow)
        try bench.awaitWindows(["other", Self.screenName, "locker"])
        withExtendedLifetime((manager, window, late)) {}
    }

    // MARK: Wayland

    private func bench(
        _ compositor: Compositor, screen: String? = nil
    ) throws -> LaunchScreenBench {
        try LaunchScreenBench(
            compositor.variables, show: try Compositor.probe() + " flags", user: windowUser,
            screen: screen)
    }

    private func awaitPixel(
        _ compositor: Compositor, _ output: String, is color: UInt32,
        _ pixel: (OutputPicture) -> UInt32
    ) throws {
        var seen: UInt32 = 0
        for _ in 0..<LaunchScreenBench.removalPatience / 50 {
            seen = pixel(try compositor.picture(of: output))
            if seen == color { return }
            poll(nil, 0, 50)
        }
        throw TestError("a pixel of \(output) is \(String(seen, radix: 16))")
    }

    @Test func `on wlroots a screen is on the output with the focus, at its scale`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let compositor = try Compositor()
        try compositor.tell("create_output")
        try compositor.tell("output HEADLESS-2 scale 2")
        let bench = try bench(compositor, screen: "[LaunchScreen]\nIcon=a.pam\nColor=#1d3557\n")
        bench.writeIcon("a.pam", side: 20, [9, 8, 7])
        bench.writeIcon("a@2x.pam", side: 40, [6, 5, 4])
        let (icon, fineIcon): (UInt32, UInt32) = (0x090807, 0x060504)
        let client = try bench.daemon.client()
        for (output, other, middle) in [
            ("HEADLESS-2", "HEADLESS-1", fineIcon), ("HEADLESS-1", "HEADLESS-2", icon),
        ] {
            try compositor.tell("focus output \(output)")
            let instance = try client.launch(Self.slow).instance
            try awaitPixel(compositor, output, is: middle) { $0.middle }
            #expect(try compositor.picture(of: output).pixel(0, 0) == Self.color)
            let foreign = try compositor.picture(of: other)
            #expect(foreign.pixel(0, 0) != Self.color && foreign.middle != Self.color)
            _ = try client.change(.terminate, instance)
        }
        _ = try client.launch(Self.slow)
        try awaitPixel(compositor, "HEADLESS-1", is: icon) { $0.middle }
        try compositor.tell("output HEADLESS-1 scale 2")
        try awaitPixel(compositor, "HEADLESS-1", is: fineIcon) { $0.middle }
        // An icon has as many units as before.
        let picture = try compositor.picture(of: "HEADLESS-1")
        let (x, y) = (picture.width / 2, picture.height / 2)
        #expect(picture.pixel(x - 20, y) == fineIcon && picture.pixel(x - 21, y) == Self.color)
    }

    @Test func `on wlroots a screen is below a screen locker`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let compositor = try Compositor()
        let bench = try bench(compositor)
        let client = try bench.daemon.client()
        let first = try client.launch(Self.slow).instance
        try awaitPixel(compositor, "HEADLESS-1", is: Self.color) { $0.pixel(0, 0) }
        let locker = try ChildProcess(
            try compositor.client("swaylock", package: "swaylock", ["--color", "3060a0"]))
        try awaitPixel(compositor, "HEADLESS-1", is: 0x3060a0) { $0.pixel(0, 0) }
        // The same if the locker is there first.
        _ = try client.change(.terminate, first)
        _ = try client.launch(Self.slow)
        for _ in 0..<20 {
            #expect(try compositor.picture(of: "HEADLESS-1").pixel(0, 0) == 0x3060a0)
            poll(nil, 0, 20)
        }
        // The screen was there.
        locker.kill(SIGUSR1)
        try awaitPixel(compositor, "HEADLESS-1", is: Self.color) { $0.pixel(0, 0) }
    }
}
