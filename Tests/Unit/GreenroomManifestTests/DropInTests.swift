import GreenroomManifest
import Testing
import UnitFile

/// A manifest and its drop-ins, merged as systemd.unit(5) says.
@Suite struct DropInTests {
    private static let main = "/usr/lib/greenroom/apps/org.x.y.app"
    private static let dropIn = "/etc/greenroom/apps/org.x.y.app.d/override.conf"

    private func parse(
        _ texts: (String, String)..., name: String = "org.x.y"
    ) -> (manifest: AppManifest?, diagnostics: [String]) {
        var context = ManifestContext()
        context.hasDesktopEntry = { $0 == "galculator" }
        let (manifest, diagnostics) = AppManifest.parse(
            texts.map { ManifestSource(Array($0.1.utf8), file: $0.0) }, name: ManifestName(name),
            context)
        return (manifest, diagnostics.map(\.description))
    }

    @Test func `a later value replaces an earlier one, without a warning`() throws {
        let (manifest, diagnostics) = parse(
            (Self.main, "[App]\nExec=/bin/a\nName=One\nUMask=0077"),
            (Self.dropIn, "[App]\nName=Two\nUMask="))
        #expect(diagnostics == [])
        let read = try #require(manifest)
        #expect(read.name == "Two" && read.umask == nil && read.command == ["/bin/a"])
        #expect(read.identifier == "org.x.y" && read.file == Self.main)
    }

    @Test func `a list grows until an empty assignment clears it`() throws {
        let text = "[App]\nExec=/bin/a\nEnvironment=A=1 B=2"
        let longer = parse((Self.main, text), (Self.dropIn, "[App]\nEnvironment=C=3"))
        #expect(
            try #require(longer.manifest).environment.map(\.description) == ["A=1", "B=2", "C=3"])
        let reset = parse(
            (Self.main, text), (Self.dropIn, "[App]\nEnvironment=\nEnvironment=C=3"))
        #expect(try #require(reset.manifest).environment.map(\.description) == ["C=3"])
    }

    @Test func `a mistake is reported with the file that contains it`() {
        let (manifest, diagnostics) = parse(
            (Self.main, "[App]\nExec=/bin/a\nFrob=1"),
            (Self.dropIn, "[App]\n\nUMask=9\nExce=x"))
        #expect(manifest == nil)
        #expect(
            diagnostics == [
                "\(Self.main):3:1: warning: unknown key Frob= in [App], ignoring",
                "\(Self.dropIn):3:7: UMask=: '9' is not an octal mode such as 0022",
                "\(Self.dropIn):4:1: warning: unknown key Exce= in [App], ignoring; "
                    + "did you mean Exec?",
            ])
    }

    @Test func `an app can be started at boot and at login`() throws {
        let (manifest, _) = parse(
            (Self.main, "[App]\nExec=/bin/a\n[Install]\nWantedBy=login boot\nWantedBy=boot"))
        #expect(try #require(manifest).wantedBy == [.boot, .login])
        let (_, diagnostics) = parse(
            (Self.main, "[App]\nExec=/bin/a\n[Install]\nWantedBy=boots"))
        #expect(
            diagnostics == [
                "\(Self.main):4:10: WantedBy=: 'boots' is not one of boot, login; "
                    + "did you mean boot?"
            ])
    }

    @Test func `an app with a desktop entry needs no Exec= and no dot in its name`() throws {
        let (manifest, diagnostics) = parse(
            ("/a/galculator.app", "[App]\nUMask=0077\n[Prewarm]\nCount=2"), name: "galculator")
        #expect(diagnostics == [])
        #expect(try #require(manifest).command == [] && manifest?.prewarm.count == 2)
    }
}

/// Specifiers are `%` and a letter.
@Suite struct SpecifierTests {
    private func parse(
        _ text: String, name: String = "org.x.y@a-b\\x2dc"
    ) -> (manifest: AppManifest?, diagnostics: [String]) {
        var context = ManifestContext()
        context.specifiers = { specifier, user in
            switch specifier {
            case .home: "/home/\(user ?? "me") x"
            case .user: user ?? "me"
            case .hostName: "host"
            default: nil
            }
        }
        let (manifest, diagnostics) = AppManifest.parse(
            [ManifestSource(Array(text.utf8), file: "f.app")], name: ManifestName(name), context)
        return (manifest, diagnostics.map(\.description))
    }

    @Test func `specifiers resolve as systemd's do`() throws {
        let (manifest, diagnostics) = parse("[App]\nExec=/bin/x %n %N %p %i %I %j a%%b")
        #expect(diagnostics == [])
        #expect(
            try #require(manifest).command == [
                "/bin/x", "org.x.y@a-b\\x2dc.app", "org.x.y@a-b\\x2dc", "org.x.y", "a-b\\x2dc",
                "a/b-c", "org.x.y", "a%b",
            ])
        #expect(manifest?.identifier == "org.x.y@a-b\\x2dc")
    }

    @Test func `a specifier's value belongs to the app's user and stays one word`() throws {
        let (manifest, diagnostics) = parse(
            "[App]\nUser=alice\nExec=/bin/x %h/y \"%u %H\"\nEnvironment=HERE=%h\n"
                + "WorkingDirectory=%h\nName=%u%%")
        #expect(diagnostics == [])
        let read = try #require(manifest)
        #expect(read.command == ["/bin/x", "/home/alice x/y", "alice host"])
        #expect(read.environment.map(\.description) == ["HERE=/home/alice x"])
        #expect(read.workingDirectory == "/home/alice x" && read.name == "alice%")
    }

    @Test(arguments: [
        (
            "Name=ä %y",
            "3:8: Name=: %y is not a specifier; write %% for a percent sign; greenroom.app(5) lists the specifiers"
        ),
        ("Environment=A=1 B=%", "3:19: Environment=: nothing follows this %; a percent sign is %%"),
        ("User=%u", "3:6: User=: %u depends on the user, so User= cannot contain it"),
        ("Name=%b", "3:6: Name=: %b has no value on this machine"),
        (
            "WorkingDirectory=%h/%H/a\nUMask=%H",
            "4:7: UMask=: 'host' is not an octal mode such as 0022"
        ),
    ])
    func `an unresolved specifier is an error with its place`(line: String, expected: String) {
        let (manifest, diagnostics) = parse("[App]\nExec=/bin/x\n" + line)
        #expect(manifest == nil)
        #expect(diagnostics == ["f.app:" + expected])
    }

    @Test func `a manifest can be checked without values for its specifiers`() {
        let (manifest, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/x %h %U\nWorkingDirectory=%h/x", file: "org.x.y.app")
        #expect(diagnostics == [] && manifest != nil)
    }

    @Test(arguments: [
        ("a-b", "a/b"), ("\\x2d", "-"), ("\\x2", "\\x2"), ("dev-sda1", "dev/sda1"), ("", ""),
        ("\\x00", "\\x00"), ("\\xc3\\xa4", "ä"),
    ])
    func `names are unescaped as systemd-escape does it`(escaped: String, text: String) {
        #expect(ManifestName.unescaped(escaped) == text)
    }

    @Test func `a template is distinguished from its instances`() {
        #expect(ManifestName(file: "/a/b.c@.app").isTemplate)
        #expect(!ManifestName(file: "b.c.app").isTemplate && !ManifestName("b.c").isInstance)
        #expect(ManifestName("org.x.app").file == "org.x.app.app")
        let name = ManifestName("b.c@d@e")
        #expect(name.isInstance && name.prefix == "b.c" && name.instance == "d@e")
        #expect(name.dropInFolders == ["b.c@.app.d", "b.c@d@e.app.d"])
        #expect(ManifestName.isValid("b.c@x") && !ManifestName.isValid("b.c@x/y"))
        #expect(!ManifestName.isValid("b@x"))
    }
}
