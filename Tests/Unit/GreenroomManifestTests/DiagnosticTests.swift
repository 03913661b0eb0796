import GreenroomManifest
import Testing
import UnitFile

/// Every message about a manifest, word for word, because people read it.
@Suite struct DiagnosticTests {
    /// Lines that follow `[App]` and a valid `Exec=`, with the message about them.
    @Test(arguments: [
        (
            "Identifier=viewer",
            "3:12: Identifier=: 'viewer' is not a reverse-DNS identifier such as org.example.Viewer (letters, digits, _ and -, no part beginning with a digit, at most 200 bytes)"
        ),
        (
            "Identifier=org.7zip",
            "3:12: Identifier=: 'org.7zip' is not a reverse-DNS identifier such as org.example.Viewer (letters, digits, _ and -, no part beginning with a digit, at most 200 bytes)"
        ),
        (
            "Type=programm",
            "3:6: Type=: 'programm' is not one of program, application-kit; did you mean program?"
        ),
        (
            "Environment=A=1 B",
            "3:17: Environment=: 'B' does not have the form NAME=value; quote a value that has blanks: \"NAME=two words\""
        ),
        (
            "Environment=1A=x",
            "3:13: Environment=: '1A' is not the name of a variable (letters, digits and _, not beginning with a digit)"
        ),
        (
            "Environment=GREENROOM_CHANNEL=9",
            "3:13: Environment=: GREENROOM_CHANNEL is reserved: GREENROOM_* is set by the daemon"
        ),
        ("Environment=\"A=1", "3:13: Environment=: this \" is never closed"),
        ("WorkingDirectory=tmp", "3:18: WorkingDirectory=: 'tmp' is not an absolute path"),
        ("UMask=99", "3:7: UMask=: '99' is not an octal mode such as 0022"),
        ("UMask=1022", "3:7: UMask=: a umask has no bits beyond 0777"),
        ("User=a b", "3:6: User=: 'a b' is not the name or number of an account"),
        ("Group=4294967295", "3:7: Group=: '4294967295' is not the name or number of an account"),
        (
            "SupplementaryGroups=audio -x",
            "3:27: SupplementaryGroups=: '-x' is not the name or number of an account"
        ),
        ("NoNewPrivileges=perhaps", "3:17: NoNewPrivileges=: 'perhaps' is neither yes nor no"),
        (
            "LimitNOFILE=many",
            "3:13: LimitNOFILE=: 'many' is not a whole number from 0 to 9223372036854775807"
        ),
        (
            "LimitNOFILE=5:x",
            "3:15: LimitNOFILE=: 'x' is not a whole number from 0 to 9223372036854775807"
        ),
        ("Instances=two", "3:11: Instances=: 'two' is not one of single, multiple"),
        (
            "ForegroundGroup=a b",
            "3:17: ForegroundGroup=: 'a b' is not a foreground group: session, none, or a word of at most 64 printable ASCII characters"
        ),
        (
            "ReadyOn=exit",
            "3:9: ReadyOn=: 'exit' is not one of exec, notify, first-output, listening"
        ),
        (
            "LaunchDeadlineSec=0",
            "3:19: LaunchDeadlineSec=: must be more than 0; infinity waits for ever"
        ),
        (
            "TerminateGraceSec=5 parsecs",
            "3:21: TerminateGraceSec=: 'parsecs' is not a unit of time; there are us, ms, s, min, h, d, w, month and y"
        ),
        (
            "[Prewarm]\nDepth=first-window",
            "4:7: Depth=: 'first-window' is not one of none, main, libraries, runtime, window, declared, auto, application-main"
        ),
        (
            "[Prewarm]\nDepth=application-main",
            "4:7: Depth=: Type=program can be prewarmed to none, main, libraries, runtime, window, declared, auto, not to application-main"
        ),
        (
            "Type=application-kit\n[Prewarm]\nDepth=main",
            "5:7: Depth=: Type=application-kit can be prewarmed to none, application-main, not to main"
        ),
        ("[Prewarm]\nCount=17", "4:7: Count=: '17' is not a whole number from 0 to 16"),
        (
            "[Prewarm]\nWhen=always",
            "4:6: When=: 'always' is not one of boot, login, demand, never, auto"
        ),
        (
            "[Prewarm]\nTimeToLiveSec=0",
            "4:15: TimeToLiveSec=: must be more than 0; infinity waits for ever"
        ),
        (
            "[Prewarm]\nEnvironmentKeys=A=1",
            "4:17: EnvironmentKeys=: 'A=1' is not the name of a variable (letters, digits and _, not beginning with a digit)"
        ),
        (
            "LoadCredential=key:/a/../b",
            "3:16: LoadCredential=: '/a/../b' contains '..'"
        ),
        ("WorkingDirectory=/a/..", "3:18: WorkingDirectory=: '/a/..' contains '..'"),
        (
            "[Socket]\nListenStream=/a/../b",
            "4:14: ListenStream=: '/a/../b' contains '..'"
        ),
        ("nonsense", "3:1: expected [Section] or Key=value, found 'nonsense'"),
    ])
    func `an error says what is allowed, and gives no manifest`(lines: String, expected: String) {
        let (manifest, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/x\n" + lines, file: "org.x.y.app")
        #expect(manifest == nil)
        #expect(diagnostics.map(\.description) == ["org.x.y.app:" + expected])
    }

    @Test(arguments: [
        ("User=bob\nSupplementaryGroups=disk", true),
        ("User=bob\nGroup=disk\nSupplementaryGroups=disk", false),
        ("User=bob\nSupplementaryGroups=disk\n[Sandbox]\nAmbientCapabilities=CAP_KILL", false),
        ("User=root\nSupplementaryGroups=disk", false), ("SupplementaryGroups=disk", false),
    ])
    func `a group that the app's user gets as well is a warning`(lines: String, isWarned: Bool) {
        let (manifest, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/x\n" + lines, file: "org.x.y.app")
        #expect(manifest != nil)
        let expected =
            "org.x.y.app:4:1: warning: SupplementaryGroups= gives user bob these groups, too"
        #expect(diagnostics.map { $0.description.hasPrefix(expected) } == (isWarned ? [true] : []))
    }

    @Test(arguments: [
        ("Exce=/bin/y", "3:1: warning: unknown key Exce= in [App], ignoring; did you mean Exec?"),
        ("Frobnicate=1", "3:1: warning: unknown key Frobnicate= in [App], ignoring"),
        (
            "Count=2",
            "3:1: warning: unknown key Count= in [App], ignoring; it belongs in [Prewarm]"
        ),
        (
            "[Prewram]\nCount=2",
            "3:2: warning: unknown section [Prewram], ignoring; did you mean Prewarm?"
        ),
        ("Name=a\nName=b", "4:1: warning: Name= is set again; the value in line 3 is ignored"),
    ])
    func `an unknown key is a warning with a suggestion`(lines: String, expected: String) {
        let (manifest, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/x\n" + lines, file: "org.x.y.app")
        #expect(manifest != nil)
        #expect(diagnostics.map(\.description) == ["org.x.y.app:" + expected])
    }

    @Test func `a warning of an unknown section names the known ones if none is similar`() {
        let (_, diagnostics) = AppManifest.parse(
            "[App]\nExec=/bin/x\n[Unit]", file: "org.x.y.app")
        let text = diagnostics.map(\.description).joined()
        #expect(
            text.hasPrefix("org.x.y.app:3:2: warning: unknown section [Unit], ignoring; there are"))
        #expect(text.contains("[App]") && text.contains("[Prewarm]"))
    }

    /// Whole files.
    @Test(arguments: [
        ("", "1:1: there is no [App] section"),
        ("[App]\n", "1:2: [App] has no Exec=; set it to a program and its arguments"),
        (
            "[App]\nExec=./x",
            "2:6: Exec=: './x' is relative; give an absolute path, or a name to be looked up in PATH"
        ),
        ("[App]\nExec='' a", "2:6: Exec=: the program is missing"),
        ("[App]\nExec=/x C:\\Dir", "2:11: Exec=: '\\D' is not an escape; a backslash is \\\\"),
    ])
    func `a file that describes no app is refused with the reason`(text: String, expected: String) {
        let (manifest, diagnostics) = AppManifest.parse(text, file: "org.x.y.app")
        #expect(manifest == nil)
        #expect(diagnostics.map(\.description) == ["org.x.y.app:" + expected])
    }

    @Test func `a file whose name is not an identifier needs Identifier=`() {
        #expect(
            AppManifest.parse("[App]\nExec=/x", file: "a/viewer.app").diagnostics.map(\.description)
                == [
                    "a/viewer.app:1:1: 'viewer' is not a reverse-DNS identifier such as "
                        + "org.example.Viewer (letters, digits, _ and -, no part beginning with a "
                        + "digit, at most 200 bytes); rename the file or set Identifier= in [App]"
                ])
        let named = AppManifest.parse("[App]\nExec=/x\nIdentifier=a.b", file: "a/viewer.app")
        #expect(named.diagnostics == [])
    }

    @Test func `lists and command lines have limits`() {
        let many = String(repeating: " x", count: 300)
        let (_, diagnostics) = AppManifest.parse(
            "[App]\nExec=/x\(many)\nSupplementaryGroups=\(many)", file: "org.x.y.app")
        #expect(
            diagnostics.map(\.description) == [
                "org.x.y.app:2:519: Exec=: more than 256 words",
                "org.x.y.app:3:150: SupplementaryGroups=: more than 64 words",
            ])
    }

    @Test func `errors come in the order of the file`() {
        let (_, diagnostics) = AppManifest.parse(
            "[Prewarm]\nWhen=x\nHm=1\n[App]\nUMask=x\nExec=x/y", file: "org.x.y.app")
        #expect(diagnostics.map(\.position.line) == [2, 3, 5, 6])
    }
}
