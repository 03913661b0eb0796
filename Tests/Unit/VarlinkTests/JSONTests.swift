import Testing
import Varlink

/// The cases follow the groups of the public JSON conformance suites (y: a parser must read it, n:
/// it must not).
@Suite struct `JSON texts` {
    @Test(
        arguments: [
            ("[]", .array([])),
            ("{}", .object([:])),
            (" [ ] ", .array([])),
            ("\t\n\r {\n} ", .object([:])),
            ("null", .null),
            ("[true,false,null]", [true, false, nil]),
            ("0", 0),
            ("-0", 0),
            ("123", 123),
            ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("18446744073709551616000", .double(1.8446744073709552e22)),
            ("1.0", .double(1)),
            ("-1.5e3", .double(-1500)),
            ("1E+2", .double(100)),
            ("1e-2", .double(0.01)),
            ("0e1", .double(0)),
            ("0.5", .double(0.5)),
            ("1e-400", .double(0)),
            (#""""#, ""),
            (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\uD83D\uDe00""#, "😀"),
            (#""\u0000""#, "\u{0}"),
            (#""\uFFFF""#, "\u{FFFF}"),
            (#""\u007f""#, "\u{7F}"),
            ("\"é€😀\"", "é€😀"),
            ("\"\u{7F}\"", "\u{7F}"),
            (#"{"a":1,"b":{"a":[]}}"#, ["a": 1, "b": ["a": []]]),
            (#"{"":0}"#, ["": 0]),
        ] as [(String, JSONValue)])
    func `valid JSON texts are read`(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd),
            (" ", .unexpectedEnd),
            ("[", .unexpectedEnd),
            ("[1", .unexpectedEnd),
            ("[1,", .unexpectedEnd),
            ("[1,]", .unexpectedCharacter),
            ("[,1]", .unexpectedCharacter),
            ("[1 2]", .unexpectedCharacter),
            ("[1]]", .trailingCharacters),
            ("]", .unexpectedCharacter),
            ("{", .unexpectedEnd),
            (#"{"a""#, .unexpectedEnd),
            (#"{"a" 1}"#, .unexpectedCharacter),
            (#"{"a":1,}"#, .unexpectedCharacter),
            (#"{"a":}"#, .unexpectedCharacter),
            (#"{a:1}"#, .unexpectedCharacter),
            (#"{1:1}"#, .unexpectedCharacter),
            (#"{'a':1}"#, .unexpectedCharacter),
            (#"{"a":1,"a":1}"#, .duplicateName),
            (#"{"a":1,"\u0061":2}"#, .duplicateName),
            ("tru", .unexpectedEnd),
            ("True", .unexpectedCharacter),
            ("nul1", .unexpectedCharacter),
            ("truee", .trailingCharacters),
            ("1 2", .trailingCharacters),
            ("+1", .unexpectedCharacter),
            ("-", .malformedNumber),
            ("-a", .malformedNumber),
            ("01", .malformedNumber),
            ("-01", .malformedNumber),
            ("1.", .malformedNumber),
            (".5", .unexpectedCharacter),
            ("1e", .unexpectedEnd),
            ("1e+", .malformedNumber),
            ("1.e1", .malformedNumber),
            ("0x1", .trailingCharacters),
            ("1_000", .trailingCharacters),
            ("NaN", .unexpectedCharacter),
            ("Infinity", .unexpectedCharacter),
            ("1e400", .numberOutOfRange),
            ("-1e400", .numberOutOfRange),
            (#"""#, .unexpectedEnd),
            (#""a"#, .unexpectedEnd),
            (#""\"#, .unexpectedEnd),
            (#""\x""#, .malformedEscape),
            (#""\u12""#, .malformedEscape),
            (#""\u123g""#, .malformedEscape),
            (#""\u"#, .unexpectedEnd),
            (#""\ud800""#, .loneSurrogate),
            (#""\ud800x""#, .loneSurrogate),
            (#""\ud800\n""#, .loneSurrogate),
            (#""\ud800\ud800""#, .loneSurrogate),
            (#""\udc00""#, .loneSurrogate),
            ("\"a\nb\"", .controlCharacter),
            ("\"\u{1}\"", .controlCharacter),
            ("\"\\n\u{1F}\"", .controlCharacter),
            ("\u{FEFF}1", .unexpectedCharacter),
            ("\u{A0}1", .unexpectedCharacter),
            ("/*c*/1", .unexpectedCharacter),
            ("\u{0}", .unexpectedCharacter),
        ] as [(String, JSONSyntaxError.Code)])
    func `invalid JSON texts are refused`(text: String, code: JSONSyntaxError.Code) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        #expect(error?.code == code)
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22],
            [0x22, 0xC0, 0x80, 0x22],
            [0x22, 0xE0, 0x80, 0x80, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0xE2, 0x82, 0x22],
            [0x22, 0x5C, 0x6E, 0xFF, 0x22],
        ] as [[UInt8]])
    func `a string that is not UTF-8 is refused`(bytes: [UInt8]) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes.span) }
        #expect(error?.code == .invalidUTF8)
    }

    /// Strings are read in runs with and without escapes.
    @Test func `a string is the same wherever its escapes are`() throws {
        for pad in 0..<600 {
            for plain in ["", "x", "éxxxxxxxx", String(repeating: "€", count: pad)] {
                let before = String(repeating: "\n", count: pad % 300) + plain
                let text = #"""# + String(repeating: #"\n"#, count: pad % 300) + plain
                let value = try JSONValue(
                    parsing: text + #"\u20ac\uD83D\ude00\u00e9\u0041\t"# + plain + #"""#)
                #expect(value == .string(before + "€😀éA\t" + plain))
                for wrong in [#"\u20g0"#, #"\ud83dx"#, #"\x"#, "\u{1}", ""] {
                    let error = #expect(throws: JSONSyntaxError.self) {
                        try JSONValue(parsing: text + #"\u20ac"# + wrong)
                    }
                    let end = text.utf8.count + 6
                    let offset = wrong == "" ? end : error?.code == .controlCharacter ? end : nil
                    if let offset { #expect(error?.offset == offset) }
                }
            }
        }
    }

    @Test
    func `a text has at most the limit of values and names, and fractions count more`() {
        var limits = Limits.standard
        limits.messageValueCount = 130
        limits.messageNameCount = 3
        func code(_ text: String) -> JSONSyntaxError.Code? {
            do throws(JSONSyntaxError) {
                _ = try JSONValue(parsing: Array(text.utf8).span, limits: limits)
                return nil
            } catch { return error.code }
        }
        #expect(code("[" + String(repeating: "1,", count: 128) + "1]") == nil)
        #expect(code("[" + String(repeating: "1,", count: 129) + "1]") == .tooManyValues)
        #expect(code("[1.5,1.5]") == nil)
        #expect(code("[1.5,1.5,1]") == nil)
        #expect(code("[1.5,1.5,1,1]") == .tooManyValues)
        #expect(code(#"[{"a":1},{"a":1,"b":1}]"#) == nil)
        #expect(code(#"[{"a":1},{"a":1,"b":{"c":1}}]"#) == .tooManyNames)
    }

    @Test func `a JSON text may be nested up to the depth limit`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONValue(parsing: nested(64))
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: nested(65))
        }
        #expect(error?.code == .tooDeep)
        #expect(error?.offset == 64)
        #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: String(repeating: #"{"a":["#, count: 100_000))
        }
    }

    @Test func `an object with many names is checked for duplicates, too`() throws {
        let members = (0..<50_000).map { "\"n\($0)\":\($0)" }
        let object = "{" + members.joined(separator: ",") + "}"
        #expect(try JSONValue(parsing: object)["n49999"] == 49999)
        #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "{" + members.joined(separator: ",") + ",\"n17\":0}")
        }
    }

    @Test func `names that only look alike are different names`() throws {
        let value = try JSONValue(parsing: #"{"é":1,"e\u0301":2}"#)
        #expect(value["é"] == 1)
        #expect(value["e\u{301}"] == 2)
    }

    @Test(arguments: [
        "null", "true", "-9223372036854775808", "0.1", "1e+300", #""\u0000\u001f\"\\\n\r\té😀""#,
        "[]", "{}", "[[],{},1]", #"{"a":{"b":[1,2]},"c":null}"#, "5e-324",
    ])
    func `a value that was read is written as the same text`(text: String) throws {
        let value = try JSONValue(parsing: text)
        var writer = JSONWriter()
        writer.value(value)
        #expect(writer.text == text)
    }

    @Test func `infinity is written as null`() {
        var writer = JSONWriter()
        writer.value(Double.infinity)
        #expect(writer.text == "null")
    }
}
