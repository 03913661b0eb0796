import Glibc
import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `An app that was loaded` {
    @Test func `has everything resolved that its manifest names`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let result = try ground.load([
                    "org.example.a": """
                    [App]
                    Name=Sleeper
                    Exec=sleep 7
                    Environment=COLOR=red
                    WorkingDirectory=/tmp
                    UMask=027
                    LimitNOFILE=100
                    [Resources]
                    MemoryMax=64M
                    """,
                    "org.example.broken": "[App]\nExec=/nonexistent/program\n",
                ])
                #expect(result.faults.count == 1)
                #expect(result.faults.first?.file.hasSuffix("broken.app") == true)
                let app = try #require(result.apps.first)
                #expect(result.apps.count == 1 && app.name == "Sleeper")
                #expect(app.program.path.hasSuffix("/bin/sleep"))
                #expect(app.program.fingerprint.first?.path.hasSuffix("sleep") == true)
                // The shim is not there, so the app always launches cold.
                #expect(app.program.ineligibility?.code == "no_shim")
                #expect(app.command.arguments == [app.program.path, "7"])
                #expect(app.command.workingDirectory == "/tmp" && app.command.umask == 0o027)
                #expect(app.wordsBeforePause == [app.program.path])
                #expect(app.environment.strings.contains("COLOR=red"))
                #expect(app.environment.strings.contains("PATH=\(app.environment.searchPath)"))
                #expect(app.identity.account.user == getuid() && !app.identity.changesUser)
                #expect(app.restrictions.limits.map(\.soft) == [100])
                #expect(
                    app.restrictions.cgroupSettings == [.init("memory.max", "\(64 << 20)")])
                #expect(app.restrictions.keys == ["MemoryMax=64M"])
            }
        }
    }

    @Test(
        arguments: [
            ("", true, true), ("", false, nil), ("KillMode=process", false, true),
            ("KillMode=control-group", true, false),
        ] as [(String, Bool, Bool?)])
    func `leaves processes behind if its command is a desktop entry's`(
        line: String, isDesktopApp: Bool, leavesRest: Bool?
    ) throws {
        let text = "[App]\nExec=/bin/sleep 1\n\(line)\n"
        let manifest = try #require(AppManifest.parse(text, file: "/a.b.app").manifest)
        let description = AppDescription(
            manifest, "a.b", user: 1, isDesktopApp: isDesktopApp, key: EnvironmentKey(0),
            isEligible: true, isWanted: true)
        #expect(description.leavesRest == leavesRest)
    }

    @Test func `is another generation if a paused instance of it would be another`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                @LoopActor func generation(_ lines: String...) throws -> UInt64? {
                    let text = (["[App]", "Exec=/bin/sleep 1"] + lines).joined(separator: "\n")
                    let apps = try Ground().load(["a.b": text]).apps
                    return try #require(apps.first).description.generation
                }
                let plain = try generation()
                #expect(try generation() == plain)
                // Only people read the name.
                #expect(try generation("Name=Another") == plain)
                for line in ["UMask=077", "LimitNOFILE=64", "Environment=A=b"] {
                    #expect(try generation(line) != plain, "\(line)")
                }
            }
        }
    }

    @Test func `gets only what its manifest declares`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let manifest = """
                    [App]
                    Type=application-kit
                    Exec=/bin/true
                    [Application]
                    URLSchemes=notes
                    ScheduledTasks=refresh
                    """
                let ground = try Ground()
                let result = try ground.load(["a.b": manifest])
                #expect(result.faults.map(\.message) == [])
                let app = try #require(result.apps.first)
                var content = AppContent()
                content.urls = [AppContent.OpenURL("notes:1")]
                try LaunchFeatures.check(content, app)
                content.userActivities = [AppContent.Activity("reading")]
                #expect(
                    LaunchFeatures.missing(for: content, in: app.application)
                        == "UserActivityTypes=reading")
            }
        }
    }
}

@Suite struct `A path of an app` {
    @Test func `starts it when what it waits for appears, wherever its folders go`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let root = ground.folder.path
                let text = """
                    [App]
                    Type=application-kit
                    Exec=/bin/true
                    [Path]
                    PathExists=\(root)/in/new
                    PathChanged=\(root)/in/log
                    """
                let app = try #require(try ground.load(["a.b": text]).apps.first)
                let settings = try #require(app.path)
                let inotify = try Inotify()
                let triggers = settings.triggers.map { PathTrigger($0, inotify) }
                let exists = try #require(triggers.first { $0.condition == .exists })
                let changed = try #require(triggers.first { $0.condition == .changed })
                #expect(exists.isLevel && !changed.isLevel && !exists.holds)
                @LoopActor func fired() throws -> (exists: Bool, changed: Bool) {
                    let events = try inotify.read()
                    return (exists.changed(events), changed.changed(events))
                }
                #expect(try fired() == (false, false))
                // The folder itself is not there yet.
                mkdir(root + "/in", 0o755)
                #expect(try fired() == (false, false))
                try ground.folder.write("x", to: "in/log")
                #expect(try fired() == (false, true))
                try ground.folder.write("x", to: "in/new")
                #expect(try fired() == (true, false))
                // With its folder renamed, the path does not lead there any more.
                rename(root + "/in", root + "/out")
                #expect(try fired() == (false, true))
                #expect(!exists.holds)
                rename(root + "/out", root + "/in")
                #expect(try fired() == (true, true))
            }
        }
    }
}
