import GreenroomManifest
import Testing
import UnitFile

@Suite struct ProfileTests {
    private func profile(_ text: String, _ name: String = "org.example.Editor") -> Profile? {
        Profile.parse(Array(("[Profile]\n" + text).utf8), file: "/profiles/\(name).conf").profile
    }

    private func complaints(_ text: String) -> [String] {
        Profile.parse(Array(text.utf8), file: "a.conf").diagnostics.map(\.description)
    }

    @Test func `a profile without Window=, a program or a path is refused with what is missing`() {
        #expect(
            complaints("[Profile]\nProgram=/bin/a\n").contains {
                $0.contains("no Window=, Vouch= or Require=")
            })
        #expect(complaints("[Profile]\nWindow=yes\n").contains { $0.contains("no Program=") })
        #expect(
            complaints("[Profile]\nWindow=yes\nProgram=editor\n").contains {
                $0.contains("“editor” is not an absolute path")
            })
        #expect(
            complaints("[Profile]\nWindow=never\nProgram=editor\n").contains {
                $0.contains("needs a Reason=")
            })
        #expect(complaints("[Profile]\nWindow=no\n") == [])
        #expect(
            complaints("[Profile]\nWindow=no\nDisplay=x11\n").contains {
                $0.contains("Display= needs Window=yes")
            })
    }

    @Test func `a profile of a tool vouches for modules of known versions`() throws {
        let text = """
            Program=/usr/bin/pip3 pip
            Version=pip 23.0.1 23.0.2
            Vouch=pip.a directory (asked again)
            Vouch=pip.* state
            Answer=pip.b ask file /etc/magic ~/.magic $MAGIC
            AtPause=pip.a x = "a b"
            AtLaunch=pip.a assert x
            """
        let tool = try #require(profile(text))
        #expect(tool.window == nil)
        let vouching = try #require(tool.vouching)
        #expect(
            vouching.linesForInspection == [
                "@pip 23.0.1 23.0.2", "+pip.a directory", "+pip.* state",
                "?pip.b ask file /etc/magic ~/.magic $MAGIC", "<pip.a x = \"a b\"", ">pip.a",
            ])
        #expect(vouching.linesForHook == ["<pip.a\tx = \"a b\"", ">pip.a\tassert x"])
        let profiles = Profiles([tool])
        #expect(profiles.vouching(for: "/usr/bin/pip3") == tool)
        #expect(profiles.vouching(for: "/home/a/bin/pip") == tool)
        #expect(profiles.vouching(for: "pip") == tool)
        #expect(profiles.vouching(for: "/home/a/bin/pip3") == nil)
        #expect(profiles.allowing(["pip3"], paths: ["/usr/bin/pip3"], app: "pip") == nil)
    }

    @Test func `a profile of a tool of Ruby says what its program requires first`() throws {
        let text = "Program=hello\nVersion=g-hello 1.0\nRequire=hello hello/cli\n"
        let vouching = try #require(profile(text)?.vouching)
        #expect(vouching.isForGem)
        #expect(vouching.linesForInspection == ["@g-hello 1.0", "^hello", "^hello/cli"])
        #expect(vouching.linesForHook == ["^hello", "^hello/cli"])
    }

    @Test(arguments: [
        ("Vouch=a time", "need a Version="), ("Version=pip", "need a Version="),
        ("Answer=a f /b", "need a Version="), ("Require=a", "need a Version="),
        ("Version=pip 1\nRequire=a\nVouch=a time", "are for programs of Python"),
        ("Version=pip 1\nVouch=a", "is not a module and a reason"),
        ("Version=pip 1\nVouch=a runs", "name the function that starts it in Answer="),
        ("Version=pip 1\nAnswer=a", "is not a module and a function"),
        ("Version=pip 1\nAnswer=a f", "“f” has no inputs"),
        ("Version=pip 1\nAnswer=a f /c b/c", "“b/c” is not a /PATH"),
        ("Version=pip 1\nAtLaunch=a", "is not a module and a statement"),
        ("Version=pip 1\nVouch=a state\nWindow=yes", "not for the same program"),
        ("Version=pip 1\nAtLaunch=a " + String(repeating: "x", count: 17_000), "bytes"),
    ])
    func `a profile of a tool is refused with what is wrong`(_ lines: String, _ words: String) {
        let text = "[Profile]\nProgram=/bin/a\n" + lines + "\n"
        #expect(complaints(text).contains { $0.contains(words) }, "\(complaints(text))")
    }

    @Test func `a program may be held without arguments only`() {
        let profiles = Profiles([profile("Window=yes\nProgram=/usr/bin/editor")!])
        func isAllowed(_ command: [String], _ path: String, _ app: String) -> Bool {
            profiles.allowing(command, paths: [path], app: app) != nil
        }
        #expect(isAllowed(["editor"], "/usr/bin/editor", "my.editor"))
        #expect(isAllowed(["editor"], "/usr/bin/editor", "org.example.Editor"))
        // A user's own entry may have the profile's name.
        #expect(!isAllowed(["editor", "--daemon"], "/usr/bin/editor", "org.example.Editor"))
        #expect(!isAllowed(["editor", "--preferences"], "/usr/bin/editor", "org.example.Settings"))
        // These are another program of that name, and a launcher of containers that starts the
        // program.
        #expect(!isAllowed(["editor"], "/home/a/bin/editor", "org.example.Editor"))
        #expect(!isAllowed(["flatpak", "run"], "/usr/bin/flatpak", "org.example.Editor"))
    }

    @Test func `a profile that forbids a program overrules those that allow it`() {
        let never = profile("Window=never\nReason=it sings\nProgram=editor", "never-a")!
        let profiles = Profiles([profile("Window=yes\nProgram=/usr/bin/editor")!, never])
        #expect(
            profiles.allowing(["editor"], paths: ["/usr/bin/editor"], app: "org.example.Editor")
                == nil)
        for (path, app) in [("/opt/editor", "a.b"), ("/usr/bin/flatpak", "org.example.Editor")] {
            #expect(profiles.forbidding([path], paths: [path], app: app) == never)
        }
        #expect(profiles.forbidding(["vi"], paths: ["/usr/bin/vi"], app: "org.example.Vi") == nil)
    }

    @Test func `a profile of the app's name counts before one that is about its program`() {
        let other = profile("Window=yes\nProgram=/usr/bin/editor", "a")!
        let own = profile("Window=no\nProgram=/usr/bin/editor")!
        let profiles = Profiles([other, own])
        #expect(
            profiles.allowing(["editor"], paths: ["/usr/bin/editor"], app: "org.example.Editor")
                == nil)
        #expect(
            profiles.allowing(["editor"], paths: ["/usr/bin/editor"], app: "my.editor") == other)
    }

    @Test func `a manifest that asks for the windows of such a program gets a warning`() {
        let never = profile("Window=never\nReason=it sings\nProgram=editor", "never-a")!
        var context = ManifestContext()
        context.profiles = Profiles([never])
        func warnings(_ depth: String) -> [String] {
            let text = "[App]\nExec=/usr/bin/editor\n[Prewarm]\nDepth=\(depth)\n"
            return AppManifest.parse(
                [ManifestSource(Array(text.utf8), file: "org.example.A.app")],
                name: ManifestName(file: "org.example.A.app"), context
            ).diagnostics.map(\.description)
        }
        #expect(
            warnings("window") == [
                "org.example.A.app:4:1: warning: Depth=window is not for this program: it sings "
                    + "(/profiles/never-a.conf); leave Depth= out"
            ])
        #expect(warnings("auto") == [])
    }
}
