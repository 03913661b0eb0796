import Testing
import UnitFile

@testable import GreenroomManifest

@Suite struct AppManifestTests {
    static let file = "/etc/greenroom/apps/org.example.Viewer.app"

    @Test func `a manifest of one line has sensible defaults`() throws {
        let (read, diagnostics) = AppManifest.parse("[App]\nExec=/bin/view", file: Self.file)
        let manifest = try #require(read)
        #expect(diagnostics == [])
        #expect(manifest.identifier == "org.example.Viewer")
        #expect(manifest.name == "org.example.Viewer")
        #expect(manifest.kind == .program)
        #expect(manifest.command == ["/bin/view"])
        #expect(manifest.foregroundGroup == nil)
        #expect(!manifest.isSingleInstance)
        #expect(!manifest.suspendsInBackground)
        #expect(!manifest.sandbox.noNewPrivileges)
        #expect(manifest.readyCondition == .exec)
        #expect(manifest.umask == nil && manifest.launchDeadline == nil)
        #expect(
            manifest.prewarm
                == .init(
                    depth: .auto, runtime: .auto, imports: [], learnsImports: true,
                    importsExclude: [], count: 1, occasion: .boot, timeToLive: nil,
                    environmentKeys: [], setsCommandLine: true))
    }

    @Test(arguments: [
        ("", true), ("none", false), ("a", false),
    ])
    func `imports are learned unless there is a list`(_ value: String, learns: Bool) throws {
        let (manifest, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/a\n[Prewarm]\nImports=\(value)\n", file: Self.file)
        #expect(diagnostics.isEmpty)
        let prewarm = try #require(manifest).prewarm
        #expect(prewarm.learnsImports == learns)
        #expect(prewarm.imports == (value == "a" ? ["a"] : []))
    }

    @Test func `every key is read`() throws {
        let text = """
            [App]
            Identifier=org.example.Other
            Name=The Viewer
            Type=application-kit
            Exec="/opt/my view" --one \\
              'two words'
            Environment=A=1 "B=two words"
            Environment=A=3
            WorkingDirectory=~
            UMask=0027
            User=alice
            Group=1000
            SupplementaryGroups=audio video
            NoNewPrivileges=yes
            LimitNOFILE=1024:4096
            LimitCORE=0
            Instances=multiple
            ForegroundGroup=seat0
            SuspendInBackground=no
            ReadyOn=first-output
            LaunchDeadlineSec=infinity
            BackgroundGraceSec=0
            TerminateGraceSec=2min

            [Prewarm]
            Depth=application-main
            Count=3
            When=login
            TimeToLiveSec=1h
            EnvironmentKeys=QT_X GTK_Y
            SetCommandLine=no
            Runtime=python
            Imports=os.path net/http
            Imports=@scope/x Foo::Bar
            ImportsExclude=os.fork tkinter

            [X-Vendor]
            Anything=goes
            """
        let (read, diagnostics) = AppManifest.parse(text, file: Self.file)
        #expect(diagnostics == [])
        let manifest = try #require(read)
        #expect(manifest.identifier == "org.example.Other")
        #expect(manifest.identifierPosition == Position(line: 2, column: 12))
        #expect(manifest.name == "The Viewer")
        #expect(manifest.kind == .applicationKit)
        #expect(manifest.command == ["/opt/my view", "--one", "two words"])
        #expect(manifest.environment.map(\.description) == ["A=3", "B=two words"])
        #expect(manifest.workingDirectory == "~")
        #expect(manifest.umask == 0o27)
        #expect(manifest.user == "alice")
        #expect(manifest.group == "1000")
        #expect(manifest.supplementaryGroups == ["audio", "video"])
        #expect(manifest.sandbox.noNewPrivileges)
        #expect(
            manifest.limits == [
                LimitSetting(resource: .core, soft: 0, hard: 0),
                LimitSetting(resource: .openFiles, soft: 1024, hard: 4096),
            ])
        #expect(!manifest.isSingleInstance)
        #expect(manifest.foregroundGroup == .named("seat0"))
        #expect(!manifest.suspendsInBackground)
        #expect(manifest.readyCondition == .firstOutput)
        #expect(manifest.launchDeadline == .unlimited)
        #expect(manifest.backgroundGrace == .zero)
        #expect(manifest.terminateGrace == .seconds(120))
        #expect(
            manifest.prewarm
                == .init(
                    depth: .applicationMain, runtime: .python,
                    imports: ["os.path", "net/http", "@scope/x", "Foo::Bar"],
                    learnsImports: false, importsExclude: ["os.fork", "tkinter"], count: 3,
                    occasion: .login, timeToLive: .seconds(3600),
                    environmentKeys: ["QT_X", "GTK_Y"], setsCommandLine: false))
    }

    @Test func `an SDK app has one instance, suspends in the background, and gets no preload`()
        throws
    {
        let text = "[App]\nExec=/bin/view\nType=application-kit"
        let manifest = try #require(AppManifest.parse(text, file: Self.file).manifest)
        #expect(manifest.isSingleInstance)
        #expect(manifest.suspendsInBackground)
        #expect(manifest.prewarm.depth == .applicationMain)
    }

    @Test func `a bare program name is looked up in PATH`() {
        let text = "[App]\nExec=view -x"
        let found = AppManifest.parse(text, file: Self.file) { "/usr/bin/" + $0 }
        #expect(found.manifest?.command == ["/usr/bin/view", "-x"])
        let missing = AppManifest.parse(text, file: "a/org.x.y.app") { _ in nil }
        #expect(missing.manifest == nil)
        #expect(
            missing.diagnostics.map(\.description) == [
                "a/org.x.y.app:2:6: Exec=: no program 'view' in PATH; install it or give an "
                    + "absolute path"
            ])
        #expect(AppManifest.parse(text, file: Self.file).manifest?.command == ["view", "-x"])
    }

    @Test func `a known app is kept, and a new manifest with its identifier is refused`() throws {
        let manifest = try #require(
            AppManifest.parse("[App]\nExec=/a", file: "a/org.x.y.app").manifest)
        let (kept, diagnostics) = AppManifest.withoutDuplicates(
            [manifest], beside: ["org.x.y": "b/org.x.y.app"])
        #expect(kept.isEmpty)
        #expect(
            diagnostics.map(\.description) == [
                "a/org.x.y.app:1:1: the identifier org.x.y is already that of b/org.x.y.app; "
                    + "set another Identifier="
            ])
    }

    @Test func `the first of two manifests with one identifier is kept`() throws {
        let first = try #require(
            AppManifest.parse("[App]\nExec=/a", file: "a/org.x.y.app").manifest)
        let second = try #require(
            AppManifest.parse("[App]\nExec=/b\nIdentifier=org.x.y", file: "b/org.x.z.app").manifest)
        let (kept, diagnostics) = AppManifest.withoutDuplicates([first, second])
        #expect(kept == [first])
        #expect(
            diagnostics.map(\.description) == [
                "b/org.x.z.app:3:12: the identifier org.x.y is already that of a/org.x.y.app:1; "
                    + "set another Identifier="
            ])
    }
}
