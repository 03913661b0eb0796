import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// State preservation and restoration: real processes made with ApplicationKit, through the real
/// daemon.
@Suite struct `The state of an app` {
    private static func app(_ environment: [String] = [], prewarm: Int = 0) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "state"
        app.environment = environment
        app.application = ["URLSchemes=state", "DocumentTypes=*.txt"]
        return app
    }

    private static func scenes(_ environment: [String] = [], prewarm: Int = 0) -> KitApp {
        var app = KitApp.scenes(prewarm: prewarm)
        app.delegate = "stateScenes"
        app.environment = environment
        app.application += ["URLSchemes=place", "DocumentTypes=*.txt"]
        return app
    }

    /// The lines that the process says between the two callbacks of its launch.
    private static func restored(_ kit: KitDaemon) -> [String] {
        let said = kit.said
        let from = said.firstIndex { $0.hasPrefix("willFinish") } ?? 0
        let to = said.firstIndex { $0.hasPrefix("didFinishLaunching ") } ?? from
        return from < to ? Array(said[(from + 1)..<to]) : []
    }

    private static let everything = [
        "shouldRestore version  inactive", "decode 7", "finished", "didDecode milk",
    ]

    // MARK: Sequences

    @Test(arguments: KitApp.starts)
    func `state is saved on the way to the background and restored later, in UIKit's order`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(Self.app(prewarm: prewarm))
        try kit.launch()
        #expect(Self.restored(kit).isEmpty)
        try kit.change(.background)
        #expect(
            kit.said.suffix(5) == [
                "willResignActive active", "didEnterBackground background",
                "shouldSave background", "willEncode", "encode",
            ])
        // A suspended app that is reclaimed ends without a callback.
        try kit.change(.suspend)
        try kit.change(.terminate)
        if prewarm > 0 { try kit.daemon.awaitPaused(kit.app.identifier) }
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
        #expect(kit.said.last == "didBecomeActive active")
    }

    @Test(arguments: KitApp.starts)
    func `a scene's state is saved with it, and comes back with its session`(prewarm: Int) throws {
        let kit = try KitDaemon(Self.scenes(prewarm: prewarm))
        try kit.ask(.open(.init(urls: ["place:rome"])))
        #expect(kit.said.contains("willConnect 1 nil"))
        try kit.change(.background)
        #expect(
            kit.said.suffix(2) == ["didEnterBackground", "activity background place:rome"])
        try kit.change(.suspend)
        try kit.change(.terminate)
        if prewarm > 0 { try kit.daemon.awaitPaused(kit.app.identifier) }
        try kit.launch()
        #expect(
            kit.said.suffix(3) == [
                "willConnect 1 place:rome", "restore 1 place:rome", "didBecomeActive",
            ])
        #expect(!kit.said.contains("shouldSave"))
    }

    @Test func `no state is saved by an app that was launched into the background`() throws {
        var app = Self.app()
        app.lines = ["BackgroundGraceSec=1h"]
        let kit = try KitDaemon(app)
        try kit.launch(inBackground: true)
        try kit.end()
        try kit.launch()
        #expect(Self.restored(kit).isEmpty)
        #expect(!kit.said.contains("willEncode"))
    }

    @Test func `state is saved by an app that ends in the foreground, before its last callback`()
        throws
    {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        let said = try kit.end()
        #expect(said.suffix(4) == ["shouldSave active", "willEncode", "encode", "willTerminate"])
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
    }

    @Test func `an object of the state is created when the app asks for it`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.reinstall(Self.app(["PROBE_OBJECT=late"]))
        try kit.launch()
        #expect(
            Self.restored(kit) == [
                "shouldRestore version  inactive", "object editor=1", "decode 7", "finished",
                "didDecode milk",
            ])
    }

    // MARK: Refusals by the app

    @Test func `an app that refuses to save state also loses its old state`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.reinstall(Self.app(["PROBE_SAVE=false"]))
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
        try kit.end()
        try kit.launch()
        #expect(Self.restored(kit).isEmpty)
    }

    @Test func `the state stays when an app refuses to restore it`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.reinstall(Self.app(["PROBE_RESTORE=false"]))
        try kit.launch()
        #expect(Self.restored(kit) == ["shouldRestore version  inactive"])
        try kit.change(.kill)
        #expect(try kit.daemon.client().instance(kit.instance).exit?.reason == .forceQuit)
    }

    @Test func `a document for which the app is launched can prevent the app's restoration`() throws
    {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        let path = try kit.daemon.directory.write("text", to: "a.txt")
        try kit.ask(.open(.init(urls: ["file://\(path)"])))
        #expect(Self.restored(kit) == ["shouldRestore version  inactive"])
        #expect(kit.said.contains("open file://\(path)"))
    }

    @Test func `no state is restored to a scene that is connected to open a document`() throws {
        let kit = try KitDaemon(Self.scenes())
        try kit.ask(.open(.init(urls: ["place:rome"])))
        try kit.end()
        let path = try kit.daemon.directory.write("text", to: "a.txt")
        try kit.ask(.open(.init(urls: ["file://\(path)"])))
        // The app gets the saved state with the session, but is not told to restore it.
        #expect(kit.said.contains("willConnect 1 place:rome"))
        #expect(!kit.said.contains { $0.hasPrefix("restore") })
    }

    // MARK: Deleting

    @Test(arguments: [false, true])
    func `state is deleted when the user force-quits the app`(hasScenes: Bool) throws {
        let kit = try KitDaemon(hasScenes ? Self.scenes() : Self.app())
        if hasScenes {
            try kit.ask(.open(.init(urls: ["place:rome"])))
        } else {
            try kit.launch()
        }
        try kit.change(.background)
        try kit.change(.kill)
        try kit.launch()
        if hasScenes {
            #expect(kit.said.contains("willConnect 1 nil"))
        } else {
            #expect(Self.restored(kit).isEmpty)
        }
    }

    @Test(arguments: ["didDecode", "didBecomeActive"], [false, true])
    func `state is deleted when the app crashes while restoring it`(
        word: String, hasScenes: Bool
    ) throws {
        let word = hasScenes && word == "didDecode" ? "restore" : word
        let make = hasScenes ? Self.scenes : Self.app
        let kit = try KitDaemon(make([], 0))
        if hasScenes {
            try kit.ask(.open(.init(urls: ["place:rome"])))
        } else {
            try kit.launch()
        }
        try kit.end()
        try kit.reinstall(make(["PROBE_FAIL=\(word)"], 0))
        let failed = try kit.daemon.client().launch(kit.app.identifier).instance
        #expect(try kit.daemon.client().wait(failed).reason == .crashed)
        try kit.reinstall(make([], 0))
        try kit.launch()
        if hasScenes {
            #expect(kit.said.contains("willConnect 1 nil"))
        } else {
            #expect(Self.restored(kit).isEmpty)
        }
    }

    @Test func `state stays when the app crashes later`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.change(.background)
        try kit.change(.foreground)
        _ = try kit.daemon.client().handled(.open(.init(urls: ["state:fail"])))
        #expect(try kit.daemon.client().wait(kit.instance).reason == .crashed)
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
    }

    @Test func `the state of a discarded session is deleted`() throws {
        let kit = try KitDaemon(Self.scenes())
        try kit.ask(.open(.init(urls: ["place:rome"])))
        try kit.end()
        _ = try kit.daemon.client().ask(
            .scene(app: kit.app.identifier, .discard, session: "1"))
        try kit.launch()
        #expect(kit.said.contains("willConnect 2 nil"))
        #expect(kit.said.contains("didDiscard [\"1\"]"))
    }

    // MARK: Limits and versions

    @Test func `a state that is too large is refused with a clear record, and the old one stays`()
        throws
    {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.reinstall(Self.app(["PROBE_BIG=1"]))
        try kit.launch()
        let watcher = try kit.daemon.watch()
        try kit.change(.background)
        let event = try watcher.next { $0.kind == .stateRefused }
        #expect(event.text.contains("100") && event.text.contains("at most 32768"))
        try kit.end()
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
    }

    @Test func `state of another version is skipped`() throws {
        var (first, second) = (Self.app(), Self.app())
        first.lines = ["Version=1"]
        second.lines = ["Version=2"]
        let kit = try KitDaemon(first)
        try kit.launch()
        try kit.end()
        try kit.reinstall(second)
        try kit.launch()
        #expect(Self.restored(kit).isEmpty)
        // Only a new state replaces the old one.
        _ = try kit.daemon.client().handled(.open(.init(urls: ["state:fail"])))
        #expect(try kit.daemon.client().wait(kit.instance).reason == .crashed)
        try kit.reinstall(first)
        try kit.launch()
        #expect(Self.restored(kit).first == "shouldRestore version 1 inactive")
        try kit.end()
        second.application.append("StateVersion=1")
        try kit.reinstall(second)
        try kit.launch()
        #expect(Self.restored(kit).first == "shouldRestore version 1 inactive")
        try kit.end()
        try kit.launch()
        #expect(Self.restored(kit).first == "shouldRestore version 2 inactive")
    }

    // MARK: Protected data

    @Test(arguments: [false, true])
    func `state is withheld while the user is locked out, and delivered afterwards`(
        hasScenes: Bool
    ) throws {
        let kit = try KitDaemon(hasScenes ? Self.scenes() : Self.app())
        if hasScenes {
            try kit.ask(.open(.init(urls: ["place:rome"])))
        } else {
            try kit.launch()
        }
        try kit.end()
        _ = try kit.daemon.client().ask(.lock(user: nil))
        try kit.launch(until: .inactive)
        #expect(Self.restored(kit).isEmpty)
        if hasScenes { #expect(kit.said.contains("willConnect 1 nil")) }
        // A state that the user has not seen is not replaced.
        try kit.change(.background)
        try kit.change(.foreground)
        _ = try kit.daemon.client().ask(.unlock(user: nil))
        let last = hasScenes ? "restore 1 place:rome" : "didDecode milk"
        try awaitChange(in: kit.daemon.directory.path, "what was withheld") {
            kit.said.contains(last)
        }
    }

    // MARK: Long restorations

    @Test(arguments: [false, true])
    func `state is on trial until a long restoration is complete`(isComplete: Bool) throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.reinstall(Self.app(["PROBE_EXTEND=1"]))
        try kit.launch()
        if isComplete { try kit.ask(.open(.init(urls: ["state:complete"]))) }
        _ = try kit.daemon.client().handled(.open(.init(urls: ["state:fail"])))
        #expect(try kit.daemon.client().wait(kit.instance).reason == .crashed)
        try kit.reinstall(Self.app())
        try kit.launch()
        #expect(Self.restored(kit) == (isComplete ? Self.everything : []))
    }

    // MARK: Surviving

    @Test func `state survives the supervisor's death between saving and the next launch`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.change(.background)
        try kit.daemon.kill()
        try kit.daemon.start()
        try kit.change(.terminate)
        try kit.daemon.kill()
        try kit.daemon.start()
        try kit.launch()
        #expect(Self.restored(kit) == Self.everything)
    }

    @Test(arguments: [false, true])
    func `state survives a reboot, with the sessions it belongs to`(hasScenes: Bool) throws {
        let kit = try KitDaemon(hasScenes ? Self.scenes() : Self.app())
        if hasScenes {
            try kit.ask(.open(.init(urls: ["place:rome"])))
        } else {
            try kit.launch()
        }
        // Nothing but the state directory is left; the app is in the foreground.
        try kit.daemon.terminate()
        try kit.daemon.start()
        try kit.launch()
        if hasScenes {
            #expect(kit.said.contains("restore 1 place:rome"))
        } else {
            #expect(Self.restored(kit) == Self.everything)
        }
    }

    @Test func `incomplete state counts as missing`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.end()
        try kit.daemon.terminate()
        let path = kit.daemon.directory.path + "/state/apps/\(kit.app.identifier)/archive"
        #expect(truncate(path, 170) == 0)
        try kit.daemon.start()
        try kit.launch()
        #expect(Self.restored(kit).isEmpty)
    }

    // MARK: One-time setup

    @Test func `a launch counts as the first until one succeeds, and again in a new version`()
        throws
    {
        var app = Self.app(["PROBE_HANG=main"])
        app.lines = ["Version=1", "LaunchDeadlineSec=1h"]
        let kit = try KitDaemon(app)
        let stuck = try kit.daemon.client().launch(kit.app.identifier).instance
        try kit.daemon.client().change(.kill, stuck)
        app.environment = []
        for (version, first) in [
            ("1", "first true of version true"), ("1", "first false of version false"),
            ("2", "first false of version true"), ("2", "first false of version false"),
            ("1", "first false of version false"),
        ] {
            app.lines = ["Version=\(version)"]
            try kit.reinstall(app)
            try kit.launch()
            #expect(kit.said.contains(first))
            try kit.end()
            try kit.daemon.terminate()
            try kit.daemon.start()
        }
    }
}
