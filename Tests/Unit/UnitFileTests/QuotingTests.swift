import Testing
import UnitFile

/// A quoted word is read as the word that it was.
@Suite struct QuotingTests {
    @Test(arguments: [
        "", "plain", "two words", "a\"b", "back\\slash", "tab\tand\nline", "ä€", "# no comment",
        "$A",
        "'single'", "\u{1}", ";",
    ])
    func `a quoted word is read as itself`(word: String) throws {
        let text = "[App]\nExec=first \(UnitFile.quoted(word)) last\n"
        let (unit, diagnostics) = UnitFile.parse(Array(text.utf8), file: "x.app")
        #expect(diagnostics.isEmpty)
        let words = try #require(unit.last("App", "Exec")).words()
        #expect(words.map(\.text) == ["first", word, "last"])
    }

    @Test func `a percent sign does not begin a specifier`() {
        #expect(UnitFile.quoted("100%I") == "\"100%%I\"")
    }
}
