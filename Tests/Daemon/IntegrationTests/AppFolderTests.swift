import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Folders of manifests: precedence, drop-ins, masks, templates.
@Suite struct AppFolderTests {
    private static let app = "org.example.app"

    /// A daemon with two folders: `apps`, then `vendor`.
    private func daemon() throws -> TestDaemon {
        var options = TestDaemon.Options()
        options.vendorFolder = true
        return try TestDaemon([], options)
    }

    private func output(_ client: TestClient, _ app: String) throws -> String {
        try client.run(app, []).text
    }

    @Test func `drop-ins from all folders apply in the order of their names`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let folders = ["apps/\(Self.app).app.d", "vendor/\(Self.app).app.d"]
        for folder in folders { mkdir("\(daemon.directory.path)/\(folder)", 0o755) }
        try daemon.directory.write(
            "[App]\nExec=/bin/sh -c 'echo $A'\nEnvironment=A=main\n", to: "vendor/\(Self.app).app")
        #expect(try client.reload().loaded == [Self.app])
        #expect(try output(client, Self.app) == "main\n")
        try daemon.directory.write("[App]\nEnvironment=A=20\n", to: folders[1] + "/20-a.conf")
        try daemon.directory.write("[App]\nEnvironment=A=10\n", to: folders[0] + "/10-a.conf")
        _ = try client.reload()
        #expect(try output(client, Self.app) == "20\n")
        // Of two drop-ins with the same name, the administrator's counts, and a link to /dev/null
        // masks both.
        try daemon.directory.write("[App]\nEnvironment=A=mine\n", to: folders[0] + "/20-a.conf")
        _ = try client.reload()
        #expect(try output(client, Self.app) == "mine\n")
        unlink("\(daemon.directory.path)/\(folders[0])/20-a.conf")
        symlink("/dev/null", "\(daemon.directory.path)/\(folders[0])/20-a.conf")
        _ = try client.reload()
        #expect(try output(client, Self.app) == "10\n")
    }

    @Test(arguments: [true, false])
    func `an app is masked by an empty file and by a link to nothing`(byLink: Bool) throws {
        let daemon = try daemon()
        let client = try daemon.client()
        try daemon.directory.write("[App]\nExec=/bin/true\n", to: "vendor/\(Self.app).app")
        #expect(try client.reload().loaded == [Self.app])
        if byLink {
            symlink("/dev/null", "\(daemon.appDirectory)/\(Self.app).app")
        } else {
            try daemon.directory.write("", to: "apps/\(Self.app).app")
        }
        let report = try client.reload()
        #expect(report.loaded == [] && report.failed == [])
        let refusal = #expect(throws: ControlError.self) { try client.launch(Self.app) }
        #expect(
            refusal.map { "\($0)" }
                == "\(Self.app) is not installed: masked by \(daemon.appDirectory)/\(Self.app).app")
        unlink("\(daemon.appDirectory)/\(Self.app).app")
        #expect(try client.reload().loaded == [Self.app])
    }

    @Test func `a mistake in a drop-in is reported with its file and place`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        mkdir("\(daemon.appDirectory)/\(Self.app).app.d", 0o755)
        try daemon.directory.write("[App]\nExec=/bin/true\n", to: "vendor/\(Self.app).app")
        try daemon.directory.write(
            "[App]\nEnvironment=A=%y\n", to: "apps/\(Self.app).app.d/bad.conf")
        let fault = try #require(try client.reload().failed.first)
        #expect(fault.file == "\(daemon.appDirectory)/\(Self.app).app.d/bad.conf")
        #expect(fault.line == 2 && fault.column == 15)
    }

    @Test func `specifiers have the values of the machine and of the user`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        try daemon.directory.write(
            "[App]\nExec=/bin/echo %U %v %N\n", to: "apps/\(Self.app).app")
        #expect(try client.reload().failed == [])
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        #expect(try output(client, Self.app) == "\(getuid()) \(release) \(Self.app)\n")
    }
}

/// `name@.app` and the apps it makes.
@Suite struct TemplateTests {
    private static let template = "[App]\nExec=/bin/echo %i %I\n[Prewarm]\nDepth=none\n"

    @Test func `an instance is installed when it is launched and forgotten when unused`() throws {
        let daemon = try TestDaemon([])
        let client = try daemon.client()
        try daemon.directory.write(Self.template, to: "apps/org.example.echo@.app")
        let report = try client.reload()
        #expect(report.loaded == [] && report.failed == [])
        let app = "org.example.echo@a-b"
        #expect(throws: ControlError.noSuchApp(app, suggestion: nil)) { try client.explain(app) }
        #expect(try client.run(app).text == "a-b a/b\n")
        #expect(try client.list() == [])
        #expect(throws: ControlError.noSuchApp("org.example.other@x", suggestion: nil)) {
            try client.launch("org.example.other@x")
        }
    }

    @Test func `an instance that runs survives a reload, with its own drop-ins`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon([])
        let client = try daemon.client()
        try daemon.directory.write("[App]\nExec=\(program)\n", to: "apps/org.example.b@.app")
        mkdir("\(daemon.appDirectory)/org.example.b@one.app.d", 0o755)
        try daemon.directory.write(
            "[App]\nName=Number one\n", to: "apps/org.example.b@one.app.d/name.conf")
        let running = try client.start("org.example.b@one")
        #expect(try client.reload().loaded == ["org.example.b@one"])
        #expect(try client.list().map(\.name) == ["Number one"])
        #expect(try client.change(.terminate, running.instance) == .notRunning)
        #expect(try client.reload().loaded == [])
    }
    @Test func `an instance that was launched on demand has no pool, even if its template changes`()
        throws
    {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon([])
        let client = try daemon.client()
        let app = "org.example.b@one"
        for name in ["", "Another"] {
            try daemon.directory.write(
                "[App]\nExec=\(program)\nName=\(name)\n[Prewarm]\nCount=2\nWhen=boot\n",
                to: "apps/org.example.b@.app")
            if name == "" { _ = try client.start(app) }
            #expect(try client.reload().loaded == [app])
            #expect(try client.list().map(\.prewarmTarget) == [0])
        }
        let running = try #require(try client.instances(of: app).first { $0.exit == nil })
        #expect(try client.change(.terminate, running.instance) == .notRunning)
        #expect(try client.reload().loaded == [])
    }
}
