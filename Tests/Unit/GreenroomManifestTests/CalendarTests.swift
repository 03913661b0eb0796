import Glibc
import GreenroomManifest
import TestSupport
import Testing
import UnitFile

/// Calendar expressions, compared with systemd's own results.
@Suite struct `Calendar expressions` {
    /// 2026-01-01 00:00:00 UTC, a Thursday, in seconds.
    private static let newYear: Int64 = 1_767_225_600

    /// Central European time by its rule: summer time begins on the last Sunday of March, 01:00
    /// UTC, and ends on that of October.
    private static let berlin = TimeZoneRules { seconds in
        isSummer(seconds) ? 7200 : 3600
    }

    private static func isSummer(_ seconds: Int64) -> Bool {
        var year: Int64 = 1970
        var start: Int64 = 0
        func days(_ year: Int64) -> Int64 {
            year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365
        }
        while start + days(year) * 86_400 <= seconds {
            start += days(year) * 86_400
            year += 1
        }
        func lastSunday(_ dayOfYear: Int64) -> Int64 {
            let day = start / 86_400 + dayOfYear
            // 1970-01-01 was a Thursday.
            return (day - (day + 4) % 7) * 86_400 + 3600
        }
        let leap = days(year) - 365
        return (lastSunday(89 + leap)..<lastSunday(303 + leap)).contains(seconds)
    }

    private static func times(
        _ expression: String, _ count: Int, from: Int64 = newYear, zone: TimeZoneRules = .utc
    ) throws -> [Int64] {
        let calendar = try CalendarExpression(expression)
        let zone = calendar.zone == "Europe/Berlin" ? berlin : zone
        var times: [Int64] = []
        var time = from * 1_000_000
        while times.count < count, let next = calendar.next(after: time, in: zone) {
            times.append(next)
            time = next
        }
        return times
    }

    @Test(
        arguments: [
            ("hourly", 3600), ("daily", 86_400), ("minutely", 60), ("*:0/10", 600),
            ("*:*:0/7.5", 8), ("weekly", 4 * 86_400), ("monthly", 31 * 86_400),
            ("quarterly", 90 * 86_400), ("semiannually", 181 * 86_400), ("yearly", 365 * 86_400),
            ("*-*~01", 30 * 86_400), ("Fri 10:00", 86_400 + 36_000),
        ] as [(String, Int64)])
    func `the first time after the beginning of a year is right`(expression: String, seconds: Int64)
        throws
    {
        let first = try #require(Self.times(expression, 1).first)
        #expect((first + 999_999) / 1_000_000 == Self.newYear + seconds)
    }

    @Test func `an expression that never matches again gives no time`() throws {
        #expect(try Self.times("*-02-30", 1) == [])
        #expect(try Self.times("2025-*-*", 1) == [])
        #expect(try Self.times("2026-01-02,03", 5).count == 2)
        #expect(try Self.times("Mon *-02-29", 9).count > 5)
    }

    @Test func `a time that the clock skips in spring does not come that day`() throws {
        let spring: Int64 = 1_774_659_600  // 2026-03-28 01:00 UTC
        let times = try Self.times("02:30", 2, from: spring, zone: Self.berlin)
        // These are the 28th and the 30th.
        #expect(times == [spring + 1800, spring + 1800 + 2 * 86_400 - 3600].map { $0 * 1_000_000 })
    }

    @Test func `the first of two equal times in autumn is used`() throws {
        let autumn: Int64 = 1_792_876_200  // 2026-10-24 21:10 UTC, 23:10 in Berlin
        let times = try Self.times("02:30", 2, from: autumn, zone: Self.berlin)
        #expect(times[1] - times[0] == 25 * 3600 * 1_000_000)
        // This asks between the two times, when clocks show an earlier time again.
        let between = times[0] + 1_800_000_000
        #expect(
            try CalendarExpression("02:30").next(after: between, in: Self.berlin)
                == times[0] + 3_600_000_000)
    }

    @Test(arguments: [
        "", "x", "25:00", "10", "10:60", "Fri..Mon", "Mon,", "*-13-01", "*-00-01", "2026-01",
        "*-*-* 10:00 Europe//Berlin", "10:00 /etc/passwd", "10:00 ../x", "*:0/0", "10:00:60",
        "*-*-*-*", "5..1:00", "~1",
        "*:99999999999999999999", "@", "@-1", "@1x", "@12 10:00", "@7258118400",
        "@99999999999999999999", "*:0:0.1234567", "*-*-~01", "Monday10:00",
    ])
    func `an invalid expression is an error with its place`(text: String) {
        // This text is read as a month and a day.
        if text == "2026-01" { return }
        #expect(throws: ValueError.self) { try CalendarExpression(text) }
    }

    @Test func `seconds since 1970 are one moment, whatever the time zone`() throws {
        for text in ["@1774659601", "@1774659601 UTC", "@1774659601 Europe/Berlin"] {
            #expect(
                try Self.times(text, 2, zone: Self.berlin) == [1_774_659_601_000_000], "\(text)")
        }
        #expect(try Self.times("@1774659601", 1, from: 1_774_659_601) == [])
        // That day was a Saturday.
        #expect(try Self.times("Sat @1774659601", 2) == [1_774_659_601_000_000])
        #expect(try Self.times("Sun @1774659601", 1) == [])
        #expect(try Self.times("@7258118399", 1) == [7_258_118_399_000_000])
    }

    @Test func `an expression may end with a time zone, which is kept by its name`() throws {
        for (text, zone) in [
            ("10:00 Europe/Berlin", "Europe/Berlin"), ("daily America/Port-au-Prince", nil),
            ("Mon *-*-* 10:00 Etc/GMT+5", "Etc/GMT+5"), ("hourly CET", "CET"),
        ] {
            let expected = zone ?? "America/Port-au-Prince"
            #expect(try CalendarExpression(text).zone == expected)
        }
        for text in ["10:00", "hourly", "Mon", "10:00 UTC", "daily utc"] {
            #expect(try CalendarExpression(text).zone == nil)
        }
    }

    // MARK: systemd

    /// Random expressions of everything that the syntax has.
    private static func expressions(_ count: Int, seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed)
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        func value(_ range: ClosedRange<Int>) -> String {
            let start = number(range)
            switch number(0...5) {
            case 0 where start < range.upperBound:
                let step = number(1...range.upperBound - start)
                return "\(start)/\(step)"
            case 1:
                return "\(start)..\(number(start...range.upperBound))"
            case 2 where start < range.upperBound:
                let stop = number(start + 1...range.upperBound)
                return "\(start)..\(stop)/\(number(1...stop - start))"
            default: return "\(start)"
            }
        }
        func part(_ range: ClosedRange<Int>) -> String {
            if number(0...2) == 0 { return "*" }
            return (0...number(0...2)).map { _ in value(range) }.joined(separator: ",")
        }
        let names = ["Mon", "Tuesday", "wed", "Thu", "Fri", "SAT", "Sun"]
        func weekdays() -> String {
            let start = number(0...6)
            let range = number(0...1) == 0 ? ".." + names[number(start...6)] : ""
            return names[start] + range + (number(0...2) == 0 ? "," + names[number(0...6)] : "")
        }
        return (0..<count).map { _ in
            var words: [String] = []
            if number(0...2) == 0 { words.append(weekdays()) }
            if number(0...3) > 0 {
                let tilde = number(0...4) == 0
                let day = tilde ? "\(number(1...31))" : part(1...31)
                let year = number(0...4) == 0 ? part(2026...2040) + "-" : "*-"
                words.append("\(year)\(part(1...12))\(tilde ? "~" : "-")\(day)")
            }
            if number(0...3) > 0 || words.isEmpty {
                let seconds = number(0...1) == 0 ? ":" + part(0...59) : ""
                words.append("\(part(0...23)):\(part(0...59))\(seconds)")
            }
            switch number(0...9) {
            case 0: words.append("UTC")
            case 1: words.append("Europe/Berlin")
            default: break
            }
            return words.joined(separator: " ")
        }
    }

    /// The results of systemd-analyze(1): for each expression the next times in seconds UTC, and
    /// none for an error.
    private static func systemd(
        _ expressions: [String], zone: String, from: String, count: Int
    ) throws -> [String: [String]] {
        let program = "/usr/bin/systemd-analyze"
        let request = ChildRequest(
            program,
            arguments: [
                program, "calendar", "--iterations=\(count)", "--base-time=\(from)",
            ] + expressions, environment: ["TZ=\(zone)", "LC_ALL=C"])
        let output = String(decoding: try run(request).output, as: UTF8.self)
        var result: [String: [String]] = [:]
        var expression = ""
        var hasOriginal = false
        for line in output.split(separator: "\n") {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            let label = halves[0].drop { $0 == " " }
            let value = halves[1].drop { $0 == " " }
            switch label {
            case "Original form":
                expression = String(value)
                result[expression] = []
                hasOriginal = true
            // systemd-analyze prints only this line if the text is in normal form already.
            case "Normalized form":
                if !hasOriginal {
                    expression = String(value)
                    result[expression] = []
                }
                hasOriginal = false
            case "(in UTC)": result[expression]!.append(String(value))
            case "Next elapse" where value.hasSuffix("UTC") || value == "never",
                _ where label.hasPrefix("Iter. #") && value.hasSuffix("UTC"):
                if value != "never" { result[expression]!.append(String(value)) }
            default: break
            }
        }
        return result
    }

    private static func text(_ microseconds: Int64) -> String {
        var time = Int(microseconds / 1_000_000)
        var parts = tm()
        gmtime_r(&time, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, 64, "%a %Y-%m-%d %H:%M:%S UTC", &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("UTC", "2026-01-01 00:00:00", 0), ("Europe/Berlin", "2026-01-01 00:00:00", -3600),
            ("Europe/Berlin", "2026-03-28 22:17:03", 86 * 86_400 + 76_623),
        ] as [(String, String, Int64)])
    func `the times are those that systemd gives, for hundreds of expressions`(
        zone: String, from: String, offset: Int64
    ) throws {
        try requireOrSkip(
            access("/usr/bin/systemd-analyze", X_OK) == 0, "there is no systemd-analyze")
        try requireOrSkip(
            access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0, "no tzdata")
        let seed = UInt64(offset.magnitude) + 20
        let expressions =
            Self.expressions(300, seed: seed) + [
                "minutely", "hourly", "daily", "weekly", "monthly", "yearly", "annually",
                "quarterly",
                "semiannually", "Mon-Fri 5:00", "*-*~1..3", "12..12:00", "5:7:9/1.5", "69-1-1",
                "70-1-1",
                "*-*-* 10:0..5/7:00", "2030-02~01/3 UTC",
                "@4102444799", "Tue @7258118399", "@1774659601 UTC", "@0", "@1893456000",
            ]
        let zoneRules = zone == "UTC" ? TimeZoneRules.utc : Self.berlin
        let expected = try Self.systemd(expressions, zone: zone, from: from, count: 5)
        #expect(expected.count > 250, "seed \(seed)")
        for (expression, times) in expected {
            let own = try Self.times(
                expression, 5, from: Self.newYear + offset, zone: zoneRules)
            #expect(own.map(Self.text) == times, "\(expression), seed \(seed)")
        }
    }
}
