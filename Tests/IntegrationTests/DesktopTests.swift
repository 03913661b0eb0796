import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Apps that desktop entries make.
@Suite struct DesktopTests {
    private static let app = "org.example.view"

    private func daemon(_ entries: [String: String]) throws -> TestDaemon {
        var options = TestDaemon.Options()
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        mkdir("\(daemon.directory.path)/applications/sub", 0o755)
        for (name, text) in entries {
            try daemon.directory.write(
                "[Desktop Entry]\nType=Application\n" + text, to: "applications/\(name).desktop")
        }
        _ = try daemon.client().reload()
        return daemon
    }

    @Test func `an entry is an app: it is listed, launched with files, and has actions`() throws {
        let daemon = try daemon([
            Self.app:
                "Name=Viewer\nName[de]=Betrachter\nExec=echo open %F end\nActions=new;other;\n"
                + "[Desktop Action new]\nName=New\nExec=echo \"brand new\"\n"
                + "[Desktop Action other]\nName=Other\nExec=printf hello\n",
            "sub/tool": "Name=Tool\nExec=true\nNoDisplay=true\n",
            "gone": "Name=Gone\nExec=true\nTryExec=no-such-program\n",
            "hidden": "Name=Hidden\nExec=true\nHidden=true\n",
        ])
        let client = try daemon.client()
        let apps = try client.list()
        #expect(apps.map(\.identifier) == [Self.app, "sub-tool"])
        #expect(apps[0].name == "Viewer" && apps[0].manifestFile == nil)
        #expect(apps[0].desktop?.actions.map(\.identifier) == ["new", "other"])
        #expect(apps.map { $0.desktop?.isShown } == [true, false])
        #expect(try client.run(Self.app, ["/a b", "file:///c%20d"]).text == "open /a b /c d end\n")
        #expect(try client.run(Self.app).text == "open end\n")
        #expect(try client.run(Self.app, [], { $0.action = "new" }).text == "brand new\n")
        // Another program than the app's.
        #expect(try client.run(Self.app, [], { $0.action = "other" }).text == "hello")
        let error = #expect(throws: ControlError.self) {
            try client.launch(Self.app, [], { $0.action = "none" })
        }
        #expect(error?.description.contains("it has new, other") == true)
        #expect(throws: ControlError.ineligible(app: Self.app)) { try client.prewarm(Self.app) }
        #expect(try client.explain(Self.app).reasons.map(\.code).first == "desktop_entry")
    }

    @Test func `a manifest of the same name adds prewarming, and masks`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try daemon(["viewer": "Name=Viewer\nExec=\(program) %U\n"])
        let client = try daemon.client()
        try daemon.directory.write("[App]\n[Prewarm]\nCount=1\n", to: "apps/viewer.app")
        #expect(try client.reload().failed == [])
        try daemon.awaitPaused("viewer")
        let (launched, text, exit) = try client.run("viewer", ["print", "x", "exit", "3"])
        #expect(launched.kind == .prewarmed && text == "x\n" && exit.status == 3)
        #expect(try client.list().map(\.name) == ["Viewer"])
        try daemon.directory.write("", to: "apps/viewer.app")
        #expect(try client.reload().loaded == [])
        unlink("\(daemon.appDirectory)/viewer.app")
        #expect(try client.reload().loaded == ["viewer"])
        unlink("\(daemon.directory.path)/applications/viewer.desktop")
        #expect(try client.reload().loaded == [])
    }

    @Test func `a manifest without a program and without an entry is a fault`() throws {
        let daemon = try daemon(["other": "Name=x\nExec=true\n"])
        try daemon.directory.write("[App]\n", to: "apps/org.example.none.app")
        #expect(try daemon.client().reload().failed.map(\.line) == [1])
    }

    @Test func `an app in a terminal wants one`() throws {
        let daemon = try daemon([
            Self.app: "Name=Shell\nExec=echo text\nTerminal=true\n"
        ])
        let client = try daemon.client()
        try daemon.directory.write("[App]\n", to: "apps/\(Self.app).app")
        _ = try client.reload()
        let error = #expect(throws: ControlError.self) { try client.launch(Self.app) }
        #expect(error?.description.contains("greenroomctl run \(Self.app)") == true)
        // Who brings a place for its output has one.
        #expect(try client.run(Self.app).text == "text\n")
    }
}
