import DesktopEntry
import TestSupport
import Testing

/// Copies of entries that start apps by another program.
@Suite struct RedirectionTests {
    private func parse(_ text: String) throws -> DesktopEntry {
        try #require(
            try DesktopEntry.parse(
                Array(text.utf8), identifier: "org.x", file: "/f/org.x.desktop",
                locale: Locale(environment: [:])))
    }

    private func entry(exec: String, _ more: String = "") -> String {
        "[Desktop Entry]\nType=Application\nName=View\nExec=\(exec)\n\(more)"
    }

    private func copy(
        _ text: String, through words: [String]
    ) throws -> (redirection: Redirection, entry: DesktopEntry, text: String) {
        let redirection = try Redirection(of: try parse(text))
        let copy = try #require(
            redirection.text(Array(text.utf8), note: "a note", through: words))
        return (redirection, try parse(copy), copy)
    }

    private func output(
        _ entry: DesktopEntry, opening files: [String]
    ) throws -> String {
        let words = try #require(entry.command).arguments(
            opening: files, name: "View", icon: nil, file: entry.file)
        let result = try run(ChildRequest(words[0], arguments: words))
        return String(decoding: result.output, as: UTF8.self)
    }

    @Test(arguments: [
        ("/bin/echo a %F b", 2, 1), ("/bin/echo %i a %U", 2, 0), ("/bin/echo 'it''s'", 2, 0),
        (#"/bin/echo "two words" \\$HOME %f"#, 3, 0), ("/bin/echo 100%% %u \"\"", 2, 1),
    ])
    func `the copy starts the program with its arguments, or else the command itself`(
        exec: String, before: Int, after: Int
    ) throws {
        let original = entry(exec: exec)
        let tool = try copy(original, through: ["/bin/echo", "say", "a b", "$HOME"])
        #expect(tool.redirection.before == before && tool.redirection.after == after)
        let direct = try output(try parse(original), opening: ["/x y"])
        #expect(try output(tool.entry, opening: ["/x y"]) == "say a b $HOME /bin/echo \(direct)")
        let gone = try copy(original, through: ["/no/such program", "say", "a b", "$HOME"])
        #expect(try output(gone.entry, opening: ["/x y"]) == direct)
        #expect(try output(gone.entry, opening: []) == output(try parse(original), opening: []))
    }

    @Test func `the icon and the file in a command are those of the original`() throws {
        let gone = try copy(
            entry(exec: "/bin/echo %i -%k %U", "Icon=eye\n"), through: ["/no/such program"])
        #expect(gone.redirection.before == 4)
        let words = try #require(gone.entry.command).arguments(
            opening: ["/x"], name: "", icon: "eye", file: "/other.desktop")
        #expect(words.suffix(5) == ["/bin/echo", "--icon", "eye", "-/f/org.x.desktop", "/x"])
    }

    @Test func `the copy keeps all else`() throws {
        let text = entry(
            exec: "/bin/echo %U",
            "Name[de]=Ansicht\nTryExec=view\nDBusActivatable=true\nMimeType=text/plain;\nActions=new;\n\n"
                + "[Desktop Action new]\nName=New\nExec=/bin/echo new\n")
        let copied = try copy(text, through: ["/bin/echo"])
        var expected = try parse(text)
        expected.command = copied.entry.command
        expected.isDBusActivatable = false
        expected.original = "/f/org.x.desktop"
        #expect(copied.entry == expected)
        #expect(copied.text.hasPrefix("# a note\n[Desktop Entry]\n"))
        #expect(copied.text.contains("Name[de]=Ansicht\n"))
    }

    @Test func `an entry whose lines end with CR and LF is copied like another`() throws {
        let text = entry(
            exec: "/bin/echo %U",
            "TryExec=view\nDBusActivatable=true\nActions=new;\n\n[Desktop Action new]\nName=New\n"
                + "Exec=/bin/echo new\n")
        let windows = try copy(text.replacing("\n", with: "\r\n"), through: ["/bin/echo"])
        #expect(windows.entry == (try copy(text, through: ["/bin/echo"]).entry))
        #expect(windows.entry.command?.program == "/bin/sh" && !windows.entry.isDBusActivatable)
        #expect(windows.entry.actions.first?.command?.program == "/bin/echo")
        // Blanks may surround the line of a group.
        let spaced = try copy(text.replacing("[Desk", with: " [Desk"), through: ["/bin/echo"])
        #expect(spaced.entry == windows.entry)
    }

    @Test func `a command that cannot be told apart from its files is refused`() throws {
        #expect(throws: Redirection.Refusal.filesInWord) {
            try Redirection(of: try parse(entry(exec: "view --open=%f")))
        }
        let onlyBus = "[Desktop Entry]\nType=Application\nName=x\nDBusActivatable=true\n"
        #expect(throws: Redirection.Refusal.hasNoCommand) {
            try Redirection(of: try parse(onlyBus))
        }
        let action = "Actions=new;\n[Desktop Action new]\nName=New\n"
        #expect(throws: Redirection.Refusal.actionHasNoCommand("new")) {
            try Redirection(of: try parse(entry(exec: "view", "DBusActivatable=true\n" + action)))
        }
        // Without D-Bus, that action does nothing anyway.
        #expect(try Redirection(of: try parse(entry(exec: "view", action))).before == 1)
    }

    @Test func `any command reads as it was written`() throws {
        var random = SeededGenerator()
        let pieces = [
            "a", " ", "\"", "'", "\\", "$", "`", "%", "\n", "\r", "\t", "é", "\u{301}", "=", ";",
            "-",
        ]
        for _ in 0..<2000 {
            let words = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                    pieces.randomElement(using: &random)!
                }.joined()
            }
            var entry = try parse(entry(exec: "p"))
            entry.command?.words = [[.text("p")]] + words.map { [.text($0)] } + [[.code(.files)]]
            let text = try #require(entry.command?.text)
            let again = try parse(self.entry(exec: text)).command?.arguments(
                opening: ["f"], name: "", icon: nil, file: "")
            #expect(again == ["p"] + words + ["f"], "\(text)")
        }
    }
}
