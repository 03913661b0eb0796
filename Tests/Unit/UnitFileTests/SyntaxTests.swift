import Testing
import UnitFile

@Suite struct SyntaxTests {
    func parse(_ text: String) throws -> UnitFile {
        let (unit, diagnostics) = UnitFile.parse(text, file: "x.app")
        #expect(diagnostics.map(\.description) == [])
        return unit
    }

    @Test func `a byte order mark before the first line is skipped`() throws {
        let unit = try parse("\u{FEFF}[App]\nExec=/bin/true\n")
        #expect(unit.sections.map(\.name) == ["App"])
        #expect(unit.sections[0].position == Position(line: 1, column: 2))
        #expect(!UnitFile.parse("[App]\n\u{FEFF}A=b\n", file: "x.app").unit.sections.isEmpty)
    }

    @Test func `sections, keys and values have lines and columns`() throws {
        let unit = try parse(
            """
            # comment
            [App]
              Name =  A b
            \t; comment
            Exec=/bin/true

            [Prewarm]
            """)
        #expect(unit.sections.map(\.name) == ["App", "Prewarm"])
        #expect(unit.sections[0].position == Position(line: 2, column: 2))
        let name = unit.sections[0].assignments[0]
        #expect(name.key == "Name")
        #expect(name.position == Position(line: 3, column: 3))
        #expect(name.value.text == "A b")
        #expect(name.value.position == Position(line: 3, column: 11))
        #expect(unit.last("App", "Exec")?.position == Position(line: 5, column: 6))
    }

    @Test func `a backslash continues a line past comments and becomes one space`() throws {
        let unit = try parse("[A]\nK=one \\\n# why\n   two\\\nthree\nL=\\\\\nM=4")
        let value = try #require(unit.last("A", "K"))
        #expect(value.text == "one  two three")
        #expect(value.position(at: 0) == Position(line: 2, column: 3))
        #expect(value.position(at: 5) == Position(line: 4, column: 4))
        #expect(value.position(at: 9) == Position(line: 5, column: 1))
        // An even number of backslashes does not continue the line.
        #expect(unit.last("A", "L")?.text == "\\\\")
        #expect(unit.last("A", "M")?.text == "4")
    }

    @Test func `a continuation ends at an empty line and at the end of the file`() throws {
        let unit = try parse("[A]\nK=one\\\n\nL=two\\")
        #expect(unit.last("A", "K")?.text == "one")
        #expect(unit.last("A", "L")?.text == "two")
    }

    @Test func `repeated keys append, and an empty assignment clears them`() throws {
        let unit = try parse("[A]\nK=1\nK=2\n[B]\nK=x\n[A]\nK=\nK=3\nK=4\nL=5\nL=")
        #expect(unit.all("A", "K").map(\.text) == ["3", "4"])
        #expect(unit.last("A", "K")?.text == "4")
        #expect(unit.last("A", "L") == nil)
        #expect(unit.assignments("A", "K").count == 5)
        #expect(unit.all("C", "K") == [])
    }

    @Test func `a value may hold equals signs, hashes and text of any language`() throws {
        let unit = try parse("[A]\nK=a=b # c ; d\nL=größer ↑ x\r\n")
        #expect(unit.last("A", "K")?.text == "a=b # c ; d")
        let value = try #require(unit.last("A", "L"))
        #expect(value.text == "größer ↑ x")
        // Columns count characters: the x is the tenth character of the value.
        #expect(value.position(at: 13) == Position(line: 3, column: 12))
    }

    @Test func `the end of a value has a place, too`() throws {
        let unit = try parse("[A]\nK=\nL=abc")
        #expect(unit.assignments("A", "K")[0].value.position == Position(line: 2, column: 3))
        #expect(unit.last("A", "L")?.position(at: 99) == Position(line: 3, column: 6))
    }

    @Test(arguments: [
        ("K=v", "x.app:1:1: 'K=' comes before the first [Section]"),
        ("[A]\n  nonsense", "x.app:2:3: expected [Section] or Key=value, found 'nonsense'"),
        ("[A]\n = v", "x.app:2:2: expected a key before ="),
        ("[A", "x.app:1:3: expected ] at the end of the section's name"),
        ("[A] x", "x.app:1:6: expected ] at the end of the section's name"),
        ("[]", "x.app:1:2: a section's name is not empty and has no brackets"),
        ("[a[b]", "x.app:1:2: a section's name is not empty and has no brackets"),
        (
            "[A]\nK=é\u{1}",
            "x.app:2:4: control character 1 is not allowed; inside quotes write it as \\x01"
        ),
        (
            "[A]\nK=\u{7f}",
            "x.app:2:3: control character 127 is not allowed; inside quotes write it as \\x7f"
        ),
    ])
    func `a syntax error is reported with its place`(text: String, expected: String) {
        let (_, diagnostics) = UnitFile.parse(text, file: "x.app")
        #expect(diagnostics.map(\.description) == [expected])
    }

    @Test func `bytes that are not UTF-8 are reported with their place`() {
        let bytes = Array("[A]\nK=é\u{fffd}".utf8) + [0xff, 0x41] + Array("\nL=1\n".utf8)
        let (unit, diagnostics) = UnitFile.parse(bytes, file: "x.app")
        #expect(diagnostics.map(\.description) == ["x.app:2:5: the line is not UTF-8"])
        #expect(unit.last("A", "L")?.text == "1")
    }

    @Test func `each limit is reported`() {
        func messages(_ text: String) -> [String] {
            UnitFile.parse(text, file: "x").diagnostics.map(\.description)
        }
        #expect(
            messages(String(repeating: "#", count: UnitFile.Limit.fileBytes + 1))
                == ["x:1:1: the file has 1048577 bytes; at most 1048576 are read"])
        let part = String(repeating: "a", count: 1000) + "\\\n"
        #expect(
            messages("[A]\nK=" + String(repeating: part, count: 66) + "\n").first
                == "x:2:1: the line is longer than 65536 bytes")
        #expect(
            messages(String(repeating: "[A]\n", count: UnitFile.Limit.sections + 1))
                == ["x:257:1: more than 256 sections"])
        #expect(
            messages("[A]\n" + String(repeating: "K=\n", count: UnitFile.Limit.assignments + 1))
                == ["x:4098:1: more than 4096 assignments"])
        #expect(messages(String(repeating: "x\n", count: 500)).count == UnitFile.Limit.diagnostics)
    }
}
