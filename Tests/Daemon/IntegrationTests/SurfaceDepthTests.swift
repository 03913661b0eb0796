import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Wayland clients that are held at their first window: the compositor has nothing of theirs to
/// show before the launch.
@Suite struct SurfaceDepthTests {
    private static let app = "org.example.toplevels"

    /// An app that shows windows as the words say, with its own compositor.
    private final class Bench {
        let compositor: Compositor
        let daemon: TestDaemon

        /// - Parameters:
        ///   - exec: another program than the probe.
        ///   - profile: the lines of a profile, by which alone the probe is held.
        init(
            _ words: String, exec: String? = nil, lines: [String] = [], isStrict: Bool = false,
            profile: String? = nil, configuration: [String] = []
        ) throws {
            try requireOrSkip(
                getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
            compositor = try Compositor(isStrict: isStrict)
            let program = try exec ?? Compositor.probe()
            var app = TestApp(
                SurfaceDepthTests.app, exec: program + (words.isEmpty ? "" : " " + words),
                prewarm: 1, depth: profile == nil ? "window" : "auto")
            app.lines =
                compositor.variables.map { "Environment=\($0)" }
                + ["Environment=HOME=\(compositor.folder.path)", "User=\(windowUser)"] + lines
            var options = TestDaemon.Options()
            options.configuration = configuration
            if let profile {
                options.profiles["\(SurfaceDepthTests.app).conf"] =
                    "[Profile]\nProgram=\(program)\nWindow=yes\n\(profile)\n"
            }
            daemon = try TestDaemon(app, options: options)
        }

        /// The paused instance, which holds its window.
        func awaitHeld() throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(SurfaceDepthTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
        }
    }

    @Test(arguments: [
        "flags", "array", "older", "opened", "wrapped", "repeats", "acks", "redraws", "views",
    ])
    func `a window appears at the launch and not before`(way: String) throws {
        let bench = try Bench("\(way) one")
        let watch = try bench.compositor.watch()
        let held = try bench.awaitHeld()
        #expect(try bench.compositor.windows() == [])
        let client = try bench.daemon.client()
        let launched = try client.launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try watch.next() == "one")
        // The compositor ends a client that breaks the rules.
        #expect(try bench.compositor.windows() == ["one"])
        #expect(try client.instance(held.instance).exit == nil)
    }

    /// Qt's platforms are plug-ins. What replaces a library's function must find that function there.
    @Test(arguments: [
        "flags", "array", "older", "opened", "wrapped", "repeats", "acks", "redraws", "views",
    ])
    func `a window of a plug-in appears at the launch and not before`(way: String) throws {
        let bench = try Bench("\(way) one", exec: try Compositor.plugIn())
        let watch = try bench.compositor.watch()
        let held = try bench.awaitHeld()
        #expect(try bench.compositor.windows() == [])
        let launched = try bench.daemon.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try watch.next() == "one")
        #expect(try bench.compositor.windows() == ["one"])
    }

    /// The compositor ends a client whose window does not have the size that the client has
    /// acknowledged.
    @Test(arguments: ["acks", "redraws", "views"])
    func `a window that gets another size while it is held appears with that size`(way: String)
        throws
    {
        let bench = try Bench("ends \(way) one", isStrict: true)
        let held = try bench.awaitHeld()
        let client = try bench.daemon.client()
        #expect(try client.launch(Self.app).instance == held.instance)
        let end = try client.wait(held.instance)
        #expect(end.status == 42)
    }

    @Test func `several windows appear in the order in which they were shown`() throws {
        let bench = try Bench("flags one older two wrapped three")
        let watch = try bench.compositor.watch()
        _ = try bench.awaitHeld()
        #expect(try bench.compositor.windows() == [])
        #expect(try bench.daemon.client().launch(Self.app).kind == .prewarmed)
        for name in ["one", "two", "three"] { #expect(try watch.next() == name) }
    }

    @Test func `a window that the program takes back before the launch does not appear`() throws {
        let bench = try Bench("unmaps one destroys two flags three")
        let watch = try bench.compositor.watch()
        _ = try bench.awaitHeld()
        #expect(try bench.daemon.client().launch(Self.app).kind == .prewarmed)
        #expect(try watch.next() == "three")
        #expect(try bench.compositor.windows() == ["three"])
    }

    @Test func `a window that comes after the launch is not withheld`() throws {
        let bench = try Bench("later second")
        let watch = try bench.compositor.watch()
        _ = try bench.awaitHeld()
        #expect(try bench.daemon.client().launch(Self.app).kind == .prewarmed)
        for name in ["first", "second"] { #expect(try watch.next() == name) }
    }

    @Test func `each of 20 launches shows one window`() throws {
        let bench = try Bench("flags one")
        let client = try bench.daemon.client()
        let watch = try bench.compositor.watch()
        for _ in 0..<20 {
            _ = try bench.awaitHeld()
            #expect(try bench.compositor.windows() == [])
            let launched = try client.launch(Self.app)
            #expect(launched.kind == .prewarmed)
            #expect(try watch.next() == "one")
            #expect(try bench.compositor.windows() == ["one"])
            _ = try client.change(.terminate, launched.instance)
            _ = try client.wait(launched.instance)
        }
    }

    @Test(arguments: [
        "remaps one", "minimizes one", "floods one", "layer", "popup", "two flags one",
    ])
    func `a program that cannot be held pauses before main`(words: String) throws {
        let bench = try Bench(words)
        let code = try bench.daemon.await("the end of the depth") { client in
            try client.explain(Self.app).reasons.map(\.code).first { $0.hasPrefix("depth_") }
        }
        #expect(code == "depth_other_display")
        #expect(try bench.compositor.windows() == [])
        #expect(try bench.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
    }

    @Test func `a profile for X11 holds no client of a compositor`() throws {
        let held = try Bench("", profile: "Display=any")
        _ = try held.awaitHeld()
        let bench = try Bench("", profile: "Display=x11")
        let code = try bench.daemon.await("the end of the depth") { client in
            try client.explain(Self.app).reasons.map(\.code).first { $0.hasPrefix("depth_") }
        }
        #expect(code == "depth_other_display")
        #expect(try bench.compositor.windows() == [])
    }

    @Test func `a launch that the compositor does not answer goes on cold, and the next is held`()
        throws
    {
        // The program itself gives up.
        let bench = try Bench("flags one", configuration: ["StartDeadlineSec=1000"])
        let held = try bench.awaitHeld()
        bench.compositor.stop()
        let client = try bench.daemon.client()
        let launched = try client.launch(Self.app)
        bench.compositor.resume()
        #expect(launched.kind == .cold && launched.instance != held.instance)
        let reasons = try client.explain(Self.app).reasons.map(\.code)
        #expect(!reasons.contains { $0.hasPrefix("depth_") }, "\(reasons)")
        #expect(try bench.awaitHeld().instance != held.instance)
    }

    @Test func `the end of the compositor ends the held window, and nothing else`() throws {
        let bench = try Bench("flags one")
        let held = try bench.awaitHeld()
        bench.compositor.end()
        let client = try bench.daemon.client()
        // This is not known before the program runs. Then it cannot be launched at all, as in a
        // direct call.
        _ = try? client.launch(Self.app)
        _ = try client.wait(held.instance)
    }

    @Test(arguments: ["kcalc", "galculator", "gnome-calculator", "gtk4-widget-factory"])
    func `a real program's window appears at the launch and not before`(name: String) throws {
        let program = findProgram(name)
        try requireOrSkip(program != nil, "no \(name)")
        let bench = try Bench(
            "", exec: program,
            lines: [
                // There must be no bus. Without the address, libdbus would start one.
                "Environment=DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent/none",
                "Environment=NO_AT_BRIDGE=1", "Environment=QT_QPA_PLATFORM=wayland",
                "Environment=GDK_BACKEND=wayland",
            ])
        let watch = try bench.compositor.watch()
        let held = try bench.awaitHeld()
        #expect(try bench.compositor.windows() == [])
        let launched = try bench.daemon.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try !watch.next().isEmpty)
    }
}
