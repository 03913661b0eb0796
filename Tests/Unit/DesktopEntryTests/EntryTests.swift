@testable import DesktopEntry
import TestSupport
import Testing

@Suite struct EntryTests {
    private func parse(
        _ text: String, _ locale: String = "C"
    ) throws(DesktopEntry.Mistake) -> DesktopEntry? {
        try DesktopEntry.parse(
            Array(text.utf8), identifier: "org.x.y", file: "/y.desktop", locale: Locale(locale))
    }

    @Test func `an entry is read as the specification says`() throws {
        let entry = try #require(
            try parse(
                """
                # A comment; not at the end
                [Desktop Entry]
                Type = Application
                Name=View\\ser
                Exec=view --new %U
                TryExec=view
                Path=/opt
                Terminal=true
                StartupWMClass=View;er
                OnlyShowIn=GNOME;A\\;B;
                Actions=new;gone;
                DBusActivatable=false
                X-Own=1

                [Desktop Action new]
                Name=New
                Exec=view --blank
                """))
        #expect(entry.name == "View er" && entry.tryExec == "view" && entry.path == "/opt")
        #expect(entry.isTerminal && !entry.isDBusActivatable && !entry.isHidden)
        #expect(entry.startupWMClass == "View;er" && entry.onlyShowIn == ["GNOME", "A;B"])
        #expect(entry.actions.map(\.identifier) == ["new"])
        #expect(entry.actions.first?.command?.program == "view")
        #expect(entry.command?.fileCode == .urls)
    }

    @Test(arguments: [
        ("C", "plain"), ("de", "de"), ("de_AT.UTF-8", "de"), ("de_DE.UTF-8", "de_DE"),
        ("sr_YU@Latn", "sr_YU"), ("sr_RS@Latn", "sr@Latn"), ("fr_FR", "plain"), ("", "plain"),
    ])
    func `the best translation is chosen`(locale: String, name: String) throws {
        let text = """
            [Desktop Entry]
            Type=Application
            Exec=x
            Name[sr]=sr
            Name[sr@Latn]=sr@Latn
            Name=plain
            Name[de]=de
            Name[de_DE]=de_DE
            Name[sr_YU]=sr_YU
            """
        #expect(try parse(text, locale)?.name == name)
    }

    @Test func `an entry of another type is not an app; a hidden entry needs no other key`() throws
    {
        #expect(try parse("[Desktop Entry]\nType=Link\nName=x\nURL=http://x") == nil)
        #expect(try parse("[Desktop Entry]\nHidden=true")?.isHidden == true)
    }

    @Test(arguments: [
        ("", 1, "there is no [Desktop Entry] group"),
        ("[Desktop Entry]\nName=x\nExec=x", 1, "there is no Type="),
        ("[Desktop Entry]\nType=Application\nExec=x", 1, "there is no Name="),
        ("[Desktop Entry]\nType=Application\nName=x", 1, "there is no Exec="),
        (
            "[Desktop Entry]\nType=Application\nName=x\nExec=x %y", 4,
            "Exec=: %y is not a field code"
        ),
        ("[Desktop Entry]\nType=Application\nName=x\nExec=\"x", 4, "Exec=: a \" is never closed"),
        (
            "[Desktop Entry]\nType=Application\nName=x\nExec=x\nTerminal=yes", 5,
            "Terminal=: neither true nor false"
        ),
        ("Name=x", 1, "a key comes before the first [Group]"),
        ("[Desktop Entry]\nwhat", 2, "expected [Group] or Key=value"),
        ("[Desktop Entry]\n[Desktop Entry]", 2, "[Desktop Entry] occurs twice"),
    ])
    func `a mistake is named with its line`(text: String, line: Int, message: String) {
        let mistake = #expect(throws: DesktopEntry.Mistake.self) { try parse(text) }
        #expect(mistake?.line == line && mistake?.message == message)
    }

    @Test(arguments: [
        (["GNOME"], [], ["ubuntu", "GNOME"], true), (["GNOME"], [], ["KDE"], false),
        ([], ["KDE"], ["KDE"], false), ([], ["KDE"], ["GNOME"], true), ([], [], [], true),
        (["GNOME"], ["ubuntu"], ["ubuntu", "GNOME"], false),
    ])
    func `a menu shows the entries for its desktop`(
        only: [String], not: [String], desktops: [String], isShown: Bool
    ) throws {
        var entry = try #require(try parse("[Desktop Entry]\nType=Application\nName=x\nExec=x"))
        entry.onlyShowIn = only
        entry.notShowIn = not
        #expect(entry.isShown(in: desktops) == isShown)
    }

    @Test func `identifiers come from the path below applications`() {
        #expect(DesktopEntry.identifier(ofFile: "org.x.y.desktop") == "org.x.y")
        #expect(DesktopEntry.identifier(ofFile: "kde/foo.desktop") == "kde-foo")
        #expect(DesktopEntry.identifier(ofFile: "mimeinfo.cache") == nil)
        #expect(DesktopEntry.identifier(ofFile: ".desktop") == nil)
    }

    @Test func `no bytes crash the reader`() {
        var random = SeededGenerator()
        let pieces = [
            "[Desktop Entry]\n", "Type=Application\n", "Name=x\n", "Exec=", "%", "\"", "\\", "'",
            "f", "U ", "\n", "[", "]", "=", ";", "Name[de]=", "é", "\u{0}", "Actions=a;\n", "\r",
        ]
        for _ in 0..<4000 {
            let text = (0..<Int.random(in: 0..<25, using: &random)).map { _ in
                pieces.randomElement(using: &random)!
            }.joined()
            let entry = try? parse(text, "de_DE@x")
            _ = try? entry?.command?.arguments(opening: ["/a"], name: "n", icon: "i", file: "f")
        }
    }
}

@Suite struct CommandTests {
    private func arguments(_ exec: String, _ files: String...) throws -> [String] {
        try DesktopEntry.Command(parsing: exec).arguments(
            opening: files, name: "The App", icon: "pic", file: "/e.desktop")
    }

    @Test func `words are quoted as the specification says`() throws {
        #expect(
            try arguments(#"a "b c" "d\"e\\f\$g" h"i j"k"#) == ["a", "b c", "d\"e\\f$g", "hi jk"])
        #expect(
            try arguments(#"sh -c 'echo "$1"' "" x\ y"#) == ["sh", "-c", "echo \"$1\"", "", "x y"])
    }

    @Test func `field codes are replaced by what they mean`() throws {
        #expect(try arguments("a %f", "/b c") == ["a", "/b c"])
        #expect(try arguments("a %f") == ["a"])
        #expect(try arguments("a %F z", "/b", "/c") == ["a", "/b", "/c", "z"])
        #expect(try arguments("a %u", "http://x") == ["a", "http://x"])
        #expect(try arguments("a %U", "/b", "http://x") == ["a", "/b", "http://x"])
        #expect(try arguments("a %i %c %k") == ["a", "--icon", "pic", "The App", "/e.desktop"])
        #expect(try arguments("a 100%% %d%D%n%N%v%m") == ["a", "100%"])
        #expect(try arguments("a --file=%f", "/b") == ["a", "--file=/b"])
        #expect(try arguments("a", "/b") == ["a", "/b"])
        #expect(try arguments("a %f", "file:///b%20c") == ["a", "/b c"])
    }

    @Test func `files that an app cannot open are refused`() throws {
        #expect(throws: DesktopEntry.Command.Refusal.tooMany) {
            try arguments("a %f", "/b", "/c")
        }
        #expect(throws: DesktopEntry.Command.Refusal.notLocal("http://x/")) {
            try arguments("a %F", "http://x/")
        }
    }

    /// `;reboot` is a valid file name.
    @Test func `a file's name never becomes part of a command's text`() throws {
        for exec in [#"sh -c "less %f""#, "sh -c 'less \"%u\"'", #"sh -c less\ %f"#] {
            #expect(throws: DesktopEntry.Command.Refusal.insideText) {
                try arguments(exec, "/tmp/;reboot")
            }
            #expect(try arguments(exec).count == 3)
        }
        #expect(
            try arguments(#"a "%f" "--open=%i" x"#, "/b c") == ["a", "/b c", "--open=pic", "x"])
    }

    @Test func `an escape in a URL has two hexadecimal digits`() {
        #expect(FileURL.path(of: "file:///a%2Bb") == "/a+b")
        #expect(FileURL.path(of: "file:///a%+bb") == nil)
    }

    @Test(arguments: ["", "%f", "a %f %U", "a %F=b", "a \\", "a %", "A=b c"])
    func `an invalid command is refused`(exec: String) {
        #expect(throws: (any Error).self) { try DesktopEntry.Command(parsing: exec) }
    }
}
