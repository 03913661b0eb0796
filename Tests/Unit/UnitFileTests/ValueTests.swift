import Testing
import UnitFile

/// The value of `K=` in a file of its own.
private func value(_ text: String) -> Value {
    UnitFile.parse("[A]\nK=\(text)", file: "x").unit.assignments("A", "K")[0].value
}

private func message(_ read: () throws -> some Any) -> String {
    do { return "read as \(try read())" } catch let error as ValueError {
        return "\(error.offset): \(error.message)"
    } catch { return "\(error)" }
}

@Suite struct WordTests {
    @Test(arguments: [
        ("/bin/echo a  b\tc", ["/bin/echo", "a", "b", "c"]),
        (#"a "two words" 'and three'"#, ["a", "two words", "and three"]),
        (#"x"y z"w '' "'" '"'"#, ["xy zw", "", "'", "\""]),
        (#"\a\b\f\n\r\t\v\\\"\'\s"#, ["\u{7}\u{8}\u{c}\n\r\t\u{b}\\\"' "]),
        (#"\x41 \101 \u00e9 \U0001f600 \xc3\xa9"#, ["A", "A", "é", "😀", "é"]),
        ("", []),
        ("%h $HOME *", ["%h", "$HOME", "*"]),
    ])
    func `words are split as systemd splits them`(text: String, words: [String]) throws {
        #expect(try value(text).words().map(\.text) == words)
    }

    @Test func `each word has the offset at which it begins`() throws {
        #expect(try value("a  'b c' d").words().map(\.offset) == [0, 3, 9])
    }

    @Test(arguments: [
        (#"a "b"#, #"2: this " is never closed"#),
        (#"a 'b\'"#, "2: this ' is never closed"),
        (#"C:\ping"#, #"2: '\p' is not an escape; a backslash is \\"#),
        (#"\é"#, #"0: '\é' is not an escape; a backslash is \\"#),
        (#"\x4"#, "0: this escape needs 2 hexadecimal digits"),
        (#"\x+1"#, "0: this escape needs 2 hexadecimal digits"),
        (#"\18 "#, "0: this escape needs 3 octal digits"),
        (#"\777"#, "0: this escape is too large"),
        (#"\000"#, "0: no text can hold NUL"),
        (#"\ud800"#, "0: this escape is not a Unicode character"),
        (#"\UFFFFFFFF"#, "0: this escape is too large"),
        (#"a b\xff"#, "2: the escapes of this word do not make UTF-8"),
    ])
    func `bad quoting is reported with its place`(text: String, expected: String) {
        #expect(message { try value(text).words() } == expected)
    }
}

@Suite struct ScalarTests {
    @Test func `booleans are read as systemd reads them`() throws {
        for text in ["1", "yes", "Y", "true", "T", "ON"] {
            #expect(try value(text).boolean())
        }
        for text in ["0", "no", "N", "false", "f", "Off"] {
            #expect(try !value(text).boolean())
        }
        #expect(message { try value("maybe").boolean() } == "0: 'maybe' is neither yes nor no")
    }

    @Test(arguments: [
        ("20", Duration.seconds(20)), ("5min 20s", .seconds(320)), ("1.5h", .seconds(5400)),
        ("infinity", .unlimited), ("0", .zero), ("250 ms", .milliseconds(250)),
        ("1h30min", .seconds(5400)), ("1us 1ns", .nanoseconds(1001)), ("3 μs", .microseconds(3)),
        ("1M", .seconds(2_629_800)), ("1m", .seconds(60)), ("2 weeks", .seconds(1_209_600)),
        ("0.5", .milliseconds(500)), ("100y", .unlimited),
    ])
    func `time spans are read as systemd reads them`(text: String, duration: Duration) throws {
        #expect(try value(text).duration() == duration)
    }

    @Test(arguments: [
        ("soon", "0: 'soon' is not a time span such as 20, 5min 20s or infinity"),
        ("-1", "0: '-1' is not a time span such as 20, 5min 20s or infinity"),
        (
            "5 fortnights",
            "2: 'fortnights' is not a unit of time; there are us, ms, s, min, h, d, w, month and y"
        ),
        ("1s -", "3: '1s -' is not a time span such as 20, 5min 20s or infinity"),
        ("101y", "0: '101y' is more than a hundred years; write infinity"),
        (
            "18446744073709551615y",
            "0: '18446744073709551615y' is more than a hundred years; write infinity"
        ),
        ("1.", "0: '1.' is not a time span such as 20, 5min 20s or infinity"),
        ("", "0: a time span is missing"),
    ])
    func `an invalid time span is reported`(text: String, expected: String) {
        #expect(message { try value(text).duration() } == expected)
    }

    @Test(arguments: [
        ("0", 0 as UInt64), ("4096", 4096), ("1K", 1024), ("64M", 64 << 20), ("1.5G", 3 << 29),
        ("1T", 1 << 40), ("15E", 15 << 60), ("7B", 7), ("18446744073709551615", .max),
        ("2 M", 2 << 20),
    ])
    func `suffixes of sizes have the base 1024`(text: String, bytes: UInt64) throws {
        #expect(try value(text).bytes() == bytes)
    }

    @Test(arguments: [
        ("16E", "0: '16E' is more than 16E"),
        ("5k", "0: '5k' is not a size such as 4096, 512K, 64M or 1.5G"),
        ("-5", "0: '-5' is not a size such as 4096, 512K, 64M or 1.5G"),
        ("M", "0: 'M' is not a size such as 4096, 512K, 64M or 1.5G"),
        ("1 2", "0: '1 2' is not a size such as 4096, 512K, 64M or 1.5G"),
    ])
    func `an invalid size is reported`(text: String, expected: String) {
        #expect(message { try value(text).bytes() } == expected)
    }

    @Test func `integers have bounds`() throws {
        #expect(try value("-3").integer(-5...5) == -3)
        #expect(try value("+3").integer(-5...5) == 3)
        for text in ["6", "x", "", "1e3", "--1", "99999999999999999999", "١"] {
            #expect(
                message { try value(text).integer(-5...5) }
                    == "0: '\(text)' is not a whole number from -5 to 5")
        }
    }

    @Test func `modes are octal`() throws {
        #expect(try value("0022").octalMode() == 0o22)
        #expect(try value("7777").octalMode() == 0o7777)
        for text in ["8", "10000", "-1", "0x1", ""] {
            #expect(
                message { try value(text).octalMode() }
                    == "0: '\(text)' is not an octal mode such as 0022")
        }
    }

    @Test func `signals have names and numbers`() throws {
        #expect(try value("SIGTERM").signal() == 15)
        #expect(try value("KILL").signal() == 9)
        #expect(try value("SYS").signal() == 31)
        #expect(try value("10").signal() == 10)
        #expect(try value("RTMIN+3").signal() == 37)
        #expect(try value("SIGRTMAX-1").signal() == 63)
        #expect(
            message { try value("SIGTEMR").signal() }
                == "0: 'SIGTEMR' is not a signal such as SIGTERM; did you mean SIGTERM?")
        #expect(
            message { try value("RTMIN+31").signal() }
                == "0: 'RTMIN+31' is not a signal such as SIGTERM")
        #expect(message { try value("0").signal() } == "0: '0' is not a whole number from 1 to 64")
    }

    @Test func `an unknown choice is answered with the nearest one`() {
        enum Colour: String, CaseIterable { case red, green }
        #expect(
            message { try value("gren").choice(Colour.self) }
                == "0: 'gren' is not one of red, green; did you mean green?")
        #expect(message { try value("x").choice(Colour.self) } == "0: 'x' is not one of red, green")
    }
}

@Suite struct ResourceLimitTests {
    @Test(arguments: [
        (LimitSetting.Resource.openFiles, "1024:4096", 1024 as UInt64, 4096 as UInt64),
        (.openFiles, "infinity", .max, .max), (.stack, "8M:infinity", 8 << 20, .max),
        (.core, "0", 0, 0), (.cpu, "1.5", 2, 2), (.cpu, "2min", 120, 120),
        (.realtimeTime, "500", 500, 500), (.realtimeTime, "2ms", 2000, 2000),
        (.nice, "-10", 30, 30), (.nice, "+5", 15, 15), (.nice, "1", 1, 1),
    ])
    func `limits are in the resource's unit`(
        resource: LimitSetting.Resource, text: String, soft: UInt64, hard: UInt64
    ) throws {
        #expect(
            try value(text).limitSetting(resource)
                == LimitSetting(resource: resource, soft: soft, hard: hard))
    }

    @Test(arguments: [
        ("2:1", "0: the soft limit of '2:1' is above the hard one"),
        ("1:2:3", "0: '1:2:3' is not a limit; write limit or soft:hard"),
        ("1:many", "2: 'many' is not a whole number from 0 to 9223372036854775807"),
        ("", "0: '' is not a whole number from 0 to 9223372036854775807"),
    ])
    func `an invalid limit is reported`(text: String, expected: String) {
        #expect(message { try value(text).limitSetting(.openFiles) } == expected)
    }

    @Test func `each resource has a number of its own`() {
        #expect(Set(LimitSetting.Resource.allCases.map(\.number)) == Set(0...15))
    }
}
