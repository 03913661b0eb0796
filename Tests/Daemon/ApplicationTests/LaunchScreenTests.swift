import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The events of launch screens that a shell gets, as whole sequences.
@Suite struct `Launch screens` {
    private static let app = "org.example.app"

    /// A probe with a launch screen, whose file is in the daemon's folder.
    private static func probe(_ keys: String..., prewarm: Int = 0) -> Probe {
        var probe = Probe(app)
        probe.prewarm = prewarm
        probe.sections = ["[LaunchScreen]"] + keys
        return probe
    }

    /// Writes the screens' files before a manifest names them.
    private static func daemon(
        _ make: (String) -> Probe, files: [String] = ["plain.ui"]
    ) throws -> TestDaemon {
        let daemon = try TestDaemon.with()
        for file in files { try daemon.directory.write("a screen\n", to: file) }
        try make(daemon.directory.path).install(in: daemon)
        _ = try daemon.client().reload()
        return daemon
    }

    /// The states of the app and its launch screen, each in one or two words.
    private static func story(_ events: [Control.Event], of instance: UInt64) -> [String] {
        events.filter { $0.instance == instance }.compactMap { event in
            switch event.kind.known {
            case .stateChanged?: event.to?.rawValue
            case .launchScreenShown?: "shown " + name(event.launchScreen?.file)
            case .launchScreenDropped?:
                "dropped " + name(event.launchScreen?.file) + " " + (event.step ?? "?")
            default: nil
            }
        }
    }

    private static func name(_ path: String?) -> String {
        String(path?.split(separator: "/").last ?? "nothing")
    }

    /// Ends the instance and returns its whole story since the launch.
    private static func story(
        of instance: UInt64, _ daemon: TestDaemon, _ watcher: EventWatcher
    ) throws -> [String] {
        try daemon.client().change(.terminate, instance)
        try watcher.awaitState(.notRunning, of: instance)
        let story = Self.story(watcher.events, of: instance)
        return Array(story[(story.firstIndex(of: "launching") ?? 0)...])
    }

    @Test(arguments: [0, 1])
    func `a screen is shown at the request and dropped when the app is active`(prewarm: Int) throws
    {
        let daemon = try Self.daemon { Self.probe("Default=\($0)/plain.ui", prewarm: prewarm) }
        if prewarm > 0 { try daemon.awaitPaused(Self.app) }
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app).instance
        try watcher.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "shown plain.ui", "inactive", "active", "dropped plain.ui active",
                "terminating", "not_running",
            ])
        let screens = watcher.events.filter { $0.launchScreen != nil }
        let (shown, dropped) = (try #require(screens.first), try #require(screens.last))
        #expect(shown.launchScreen == dropped.launchScreen)
        let since = try #require(shown.launchScreen?.shownTimestampUSec)
        let (first, last) = (try #require(shown.elapsedUSec), try #require(dropped.elapsedUSec))
        #expect(0 <= first && first <= last)
        // The two times of both events agree: the wall clock's, and the time since the request.
        #expect(abs(dropped.timestampUSec - since - (last - first)) < 2_000_000)
        // The event was sent before the launch was answered.
        let launched = try #require(watcher.events.firstIndex { $0.kind == .launched })
        #expect(watcher.events[..<launched].contains(shown))
    }

    @Test func `a screen is dropped at the first draw, even if the app is not active yet`() throws {
        let daemon = try Self.daemon {
            var probe = Self.probe("Default=\($0)/plain.ui")
            probe.environment = ["PROBE_DRAW=launch"]
            return probe
        }
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app).instance
        try watcher.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "shown plain.ui", "dropped plain.ui firstDraw", "inactive", "active",
                "terminating", "not_running",
            ])
    }

    @Test func `a screen stays until the first draw if the manifest says so`() throws {
        let daemon = try Self.daemon {
            var probe = Self.probe("Default=\($0)/plain.ui", "Until=first-draw")
            probe.environment = ["PROBE_DRAW=deliver"]
            probe.application = ["URLSchemes=notes"]
            return probe
        }
        let watcher = try daemon.watch()
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try watcher.awaitState(.active, of: instance)
        #expect(Self.name(try client.instance(instance).launchScreen?.file) == "plain.ui")
        _ = try client.handled(.open(Control.OpenCall(urls: ["notes:x"])))
        try watcher.next { $0.kind == .launchScreenDropped }
        #expect(try client.instance(instance).launchScreen == nil)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "shown plain.ui", "inactive", "active", "dropped plain.ui firstDraw",
                "terminating", "not_running",
            ])
    }

    @Test func `no screen is shown for a background launch, nor when its app comes to the front`()
        throws
    {
        let daemon = try Self.daemon { Self.probe("Default=\($0)/plain.ui") }
        let watcher = try daemon.watch()
        let client = try daemon.client()
        let instance = try client.launch(Self.app) { $0.isBackground = true }.instance
        try watcher.awaitState(.background, of: instance)
        #expect(try client.launch(Self.app).kind == .foreground)
        try watcher.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "background", "inactive", "active", "terminating", "not_running",
            ])
    }

    @Test func `no screen is shown for an app that already runs or is suspended`() throws {
        let daemon = try Self.daemon { Self.probe("Default=\($0)/plain.ui") }
        let watcher = try daemon.watch()
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try watcher.awaitState(.active, of: instance)
        #expect(try client.launch(Self.app).kind == .foreground)
        #expect(try client.change(.suspend, instance) == .suspended)
        #expect(try client.launch(Self.app).kind == .resume)
        try daemon.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "shown plain.ui", "inactive", "active", "dropped plain.ui active",
                "inactive", "background", "suspended", "background", "inactive", "active",
                "terminating", "not_running",
            ])
    }

    @Test func `a screen is shown if a user launches an app during its background launch`()
        throws
    {
        let daemon = try Self.daemon {
            var probe = Self.probe("Default=\($0)/plain.ui")
            probe.environment = ["PROBE_GATE=\($0)/gate"]
            return probe
        }
        let gate = daemon.directory.path + "/gate"
        for fifo in [gate, gate + "2"] { #expect(mkfifo(fifo, 0o666) == 0) }
        let watcher = try daemon.watch()
        let client = try daemon.client()
        let instance = try client.launch(Self.app) { $0.isBackground = true }.instance
        #expect(try client.launch(Self.app).kind == .foreground)
        for fifo in [gate, gate + "2"] { close(open(fifo, O_WRONLY)) }
        try watcher.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "shown plain.ui", "inactive", "active", "dropped plain.ui active",
                "terminating", "not_running",
            ])
    }

    @Test func `a screen is dropped when the launch fails`() throws {
        let daemon = try Self.daemon {
            var probe = Self.probe("Default=\($0)/plain.ui")
            probe.lines = ["LaunchDeadlineSec=2s"]
            probe.environment = ["PROBE_HANG=launch"]
            return probe
        }
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app).instance
        try watcher.awaitState(.notRunning, of: instance)
        #expect(
            Self.story(watcher.events, of: instance) == [
                "launching", "shown plain.ui", "terminating", "dropped plain.ui ended",
                "not_running",
            ])
    }

    @Test func `a screen survives the supervisor's death, and the next supervisor drops it`() throws
    {
        let daemon = try Self.daemon {
            var probe = Self.probe("Default=\($0)/plain.ui", "Until=first-draw")
            probe.environment = ["PROBE_DRAW=deliver"]
            probe.application = ["URLSchemes=notes"]
            return probe
        }
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try daemon.kill()
        try daemon.start()
        let client = try daemon.client()
        #expect(Self.name(try client.instance(instance).launchScreen?.file) == "plain.ui")
        let watcher = try daemon.watch()
        _ = try client.handled(.open(Control.OpenCall(urls: ["notes:x"])))
        let dropped = try watcher.next { $0.kind == .launchScreenDropped }
        #expect(Self.name(dropped.launchScreen?.file) == "plain.ui")
        #expect(dropped.step == "firstDraw")
    }

    @Test func `a screen is chosen by the URL, then the orientation, then the width`() throws {
        let files = ["plain.ui", "wide.ui", "tall.ui", "left.ui", "small.ui", "note.ui"]
        let daemon = try Self.daemon(
            { folder in
                var probe = Self.probe(
                    "Default=\(folder)/plain.ui",
                    "Orientation=portrait:\(folder)/tall.ui landscape:\(folder)/wide.ui",
                    "Orientation=landscape-left:\(folder)/left.ui",
                    "SizeClass=compact:\(folder)/small.ui", "URLScheme=Notes:\(folder)/note.ui")
                probe.application = ["URLSchemes=notes other"]
                return probe
            }, files: files)
        let cases: [(url: String?, Control.Orientation?, Control.SizeClass?, String)] = [
            (nil, nil, nil, "plain.ui"), (nil, .portrait, nil, "tall.ui"),
            (nil, .landscapeLeft, nil, "left.ui"), (nil, .landscapeRight, .compact, "wide.ui"),
            (nil, .portraitUpsideDown, .compact, "small.ui"), (nil, nil, .regular, "plain.ui"),
            ("notes:1", .portrait, .compact, "note.ui"), ("other:1", nil, .compact, "small.ui"),
        ]
        let watcher = try daemon.watch()
        for (url, orientation, sizeClass, file) in cases {
            let client = try daemon.client()
            let instance: UInt64
            if let url {
                var open = Control.OpenCall(urls: [url])
                (open.orientation, open.sizeClass) = (orientation, sizeClass)
                instance = try client.handled(.open(open)).1.instance
            } else {
                instance = try client.launch(Self.app) {
                    ($0.orientation, $0.sizeClass) = (orientation, sizeClass)
                }.instance
            }
            try watcher.awaitState(.active, of: instance)
            let story = try Self.story(of: instance, daemon, watcher)
            #expect(story.contains("shown \(file)"), "\(url ?? "-") \(story)")
        }
    }

    @Test func `a screen whose file is missing does not prevent the launch`() throws {
        let daemon = try Self.daemon({ Self.probe("Default=\($0)/absent.ui") })
        #expect(daemon.log.contains("absent.ui: no such file or directory, ignoring it"))
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app).instance
        try watcher.awaitState(.active, of: instance)
        #expect(
            try Self.story(of: instance, daemon, watcher) == [
                "launching", "inactive", "active", "terminating", "not_running",
            ])
    }

    @Test func `verify checks that a screen exists, has at most 25 MB and is more than an image`()
        throws
    {
        let folder = try TemporaryDirectory()
        try folder.write("a screen\n", to: "good.ui")
        try folder.write("\u{89}PNG\r\n", to: "not-quite.ui")
        for (name, bytes) in [
            ("image.ui", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A]),
            ("webp.ui", Array("RIFF1234WEBP".utf8)),
        ] as [(String, [UInt8])] {
            let file = open(folder.path + "/" + name, O_WRONLY | O_CREAT, 0o644)
            #expect(write(file, bytes, bytes.count) == bytes.count)
            close(file)
        }
        let large = open(folder.path + "/large.ui", O_WRONLY | O_CREAT, 0o644)
        #expect(ftruncate(large, 25_000_000) == 0)
        let verify = { (screen: String) throws -> (Int32, String) in
            try folder.write(
                """
                [App]
                Exec=/bin/true
                [LaunchScreen]
                Default=\(folder.path)/\(screen)

                """, to: "org.example.app.app")
            var request = ChildRequest(
                try Programs.client,
                arguments: ["greenroomctl", "verify", folder.path + "/org.example.app.app"])
            request.environment = inheritedEnvironment()
            let result = try run(request, mergingErrors: true)
            guard case .status(let status) = result.exit else { return (-1, "") }
            return (status, String(decoding: result.output, as: UTF8.self))
        }
        for screen in ["good.ui", "not-quite.ui", "large.ui"] {
            let (code, said) = try verify(screen)
            #expect(code == 0 && !said.contains("warning"), "\(said)")
        }
        #expect(ftruncate(large, 25_000_001) == 0)
        close(large)
        for (screen, status, words) in [
            ("large.ui", 2, "25000001 bytes; at most 25000000 (25 MB)"),
            ("absent.ui", 2, "no such file or directory"), ("", 2, "is not a file"),
            ("image.ui", 0, "bare image"), ("webp.ui", 0, "bare image"),
        ] as [(String, Int32, String)] {
            let (code, said) = try verify(screen)
            #expect(code == status)
            #expect(said.contains("org.example.app.app:4:") && said.contains(words), "\(said)")
        }
    }
}
