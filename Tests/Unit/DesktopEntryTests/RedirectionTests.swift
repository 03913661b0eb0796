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

    @Test func `the copy keeps all else, and is hidden where the app is gone`() throws {
        let text = entry(
            exec: "/bin/echo %U",
            "Name[de]=Ansicht\nDBusActivatable=true\nMimeType=text/plain;\nActions=new;\n\n"
                + "[Desktop Action new]\nName=New\nExec=/bin/echo new\n")
        let copied = try copy(text, through: ["/bin/echo"])
        var expected = try parse(text)
        expected.command = copied.entry.command
        expected.tryExec = "/bin/echo"
        expected.isDBusActivatable = false
        #expect(copied.entry == expected)
        #expect(copied.text.hasPrefix("# a note\n[Desktop Entry]\n"))
        #expect(copied.text.contains("Name[de]=Ansicht\n"))
    }

    @Test func `a command that cannot be told apart from its files is refused`() throws {
        #expect(throws: Redirection.Refusal.filesInWord) {
            try Redirection(of: try parse(entry(exec: "view --open=%f")))
        }
        let onlyBus = "[Desktop Entry]\nType=Application\nName=x\nDBusActivatable=true\n"
        #expect(throws: Redirection.Refusal.hasNoCommand) {
            try Redirection(of: try parse(onlyBus))
        }
    }

    @Test func `any command reads as it was written`() throws {
        var random = SystemRandomNumberGenerator()
        let pieces = ["a", " ", "\"", "'", "\\", "$", "`", "%", "\n", "\t", "é", "=", ";", "-"]
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
