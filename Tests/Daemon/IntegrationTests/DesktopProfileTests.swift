import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Profiles of desktop programs say which are held at their first window although no manifest asks
/// for that.
@Suite struct DesktopProfileTests {
    private static let app = "org.example.windows"

    /// A daemon with profiles, and with an app whose manifest leaves the depth to the daemon.
    private final class Bench {
        let screen: Screen
        let daemon: TestDaemon

        init(_ profiles: [String: String], depth: String = "auto") throws {
            screen = try Screen()
            var app = TestApp(
                DesktopProfileTests.app, exec: try Screen.probe(), prewarm: 1,
                depth: depth)
            app.lines = ["Environment=DISPLAY=\(screen.display)", "User=\(windowUser)"]
            var options = TestDaemon.Options()
            options.profiles = profiles
            daemon = try TestDaemon(app, options: options)
        }

        func reasons() throws -> [String] {
            try daemon.client().explain(DesktopProfileTests.app).reasons.map(\.code)
        }

        /// Waits until an instance is paused at this depth.
        func awaitDepth(_ depth: Control.PrewarmDepth) throws {
            _ = try daemon.await("an instance at \(depth)") { client in
                try client.paused(DesktopProfileTests.app).first { $0.depth == .known(depth) }
            }
        }
    }

    private func requireFreezer() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
    }

    private func profile(_ window: String, _ program: String? = nil) throws -> String {
        "[Profile]\nProgram=\(try program ?? Screen.probe())\nWindow=\(window)\nReason=it sings\n"
    }

    @Test func `a program with a profile is held at its window, and explain and list say why`()
        throws
    {
        try requireFreezer()
        let bench = try Bench(["\(Self.app).conf": profile("yes") + "Display=x11\n"])
        try bench.awaitDepth(.window)
        #expect(try bench.screen.windows() == [])
        #expect(try bench.reasons().contains("profile"))
        let summary = try #require(
            try bench.daemon.client().list().first { $0.identifier == Self.app })
        #expect(summary.profile?.hasSuffix("/profiles/\(Self.app).conf") == true)
    }

    @Test func `a depth in the manifest counts before a profile`() throws {
        let bench = try Bench(["\(Self.app).conf": profile("yes")], depth: "main")
        try bench.awaitDepth(.main)
        #expect(try !bench.reasons().contains("profile"))
    }

    @Test func `profiles that forbid, or that everybody could write, hold nothing`() throws {
        let bench = try Bench([
            "\(Self.app).conf": profile("yes"), "never.conf": profile("never"),
        ])
        try bench.awaitDepth(.main)
        #expect(try !bench.reasons().contains("profile"))
        let folder = bench.daemon.directory.path + "/profiles"
        unlink(folder + "/never.conf")
        chmod(folder + "/\(Self.app).conf", 0o666)
        _ = try bench.daemon.client().reload()
        #expect(try !bench.reasons().contains("profile"))
        #expect(bench.daemon.log.contains("can be changed by everybody"))
    }

    @Test func `a profile that is changed counts at the next reload`() throws {
        try requireFreezer()
        let bench = try Bench(["\(Self.app).conf": profile("no")])
        try bench.awaitDepth(.main)
        _ = try bench.daemon.directory.write(profile("yes"), to: "profiles/\(Self.app).conf")
        _ = try bench.daemon.client().reload()
        try bench.awaitDepth(.window)
        // A link to /dev/null masks a profile, as it masks a manifest.
        unlink(bench.daemon.directory.path + "/profiles/\(Self.app).conf")
        symlink("/dev/null", bench.daemon.directory.path + "/profiles/\(Self.app).conf")
        _ = try bench.daemon.client().reload()
        try bench.awaitDepth(.main)
    }
}
