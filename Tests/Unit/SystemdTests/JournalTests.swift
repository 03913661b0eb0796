import Glibc
import Testing

@testable import Systemd

@Suite struct JournalTests {
    @Test(arguments: [
        ("app", "APP"), ("exitStatus", "EXIT_STATUS"), ("a-b.c", "A_B_C"),
        ("pid2Name", "PID2_NAME"),
    ])
    func `field names are turned into the journal's form`(key: String, name: String) {
        #expect(JournalRecord.fieldName(key) == name)
    }

    @Test func `text from outside cannot begin a line or control a terminal`() {
        var record = JournalRecord(
            identifier: "d", level: .error, message: "a\u{1b}[2Jb\r\u{85}",
            fields: [("x", ""), ("y", "1)")])
        #expect(record.line == "d: error: a\\x1b[2Jb\\x0d\\x85 (x=\"\" y=\"1)\")\n")
        record.message = "\u{202E}txt.exe\u{2028}\u{9b}31m\u{61c}\u{2066}é€😀"
        let text = "\\u202etxt.exe\\u2028\\x9b31m\\u061c\\u2066é€😀"
        #expect(record.line.hasPrefix("d: error: \(text) ("))
        #expect(record.journalFields(prefix: "G_").contains(Array("MESSAGE=\(text)".utf8)))
    }

    @Test func `a long line is cut between characters and keeps its newline`() {
        let text = String(repeating: "é", count: 20) + "\n"
        for limit in 5..<41 {
            let cut = JournalRecord.cut(text, to: limit)
            #expect(cut.count <= limit)
            let back = String(validating: cut, as: UTF8.self)
            #expect(back?.hasSuffix("…\n") == true)
        }
        #expect(JournalRecord.cut(text, to: 41) == Array(text.utf8))
    }

    @Test func `a full pipe loses lines, says how many, and never blocks`() {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let junk = [UInt8](repeating: 46, count: 4096)
        while write(ends[1], junk, junk.count) > 0 {}
        _ = fcntl(ends[1], F_SETFL, 0)
        let journal = Journal(identifier: "d", fieldPrefix: "D_", descriptor: ends[1])
        journal.log(.error, "one")
        journal.log(.error, "two")
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        _ = read(ends[0], &bytes, bytes.count)
        journal.log(.error, "three")
        let count = read(ends[0], &bytes, bytes.count)
        #expect(
            String(decoding: bytes.prefix(count), as: UTF8.self)
                == "d: notice: 2 lines of this log were lost\nd: error: three\n")
    }

    @Test(arguments: [
        (Duration.zero, 0 as UInt64), (.nanoseconds(1), 1), (.seconds(-1), 0),
        (.seconds(Int64.max), UInt64.max), (.milliseconds(1500), 1_500_000_000),
    ])
    func `durations become nanoseconds without overflow`(duration: Duration, expected: UInt64) {
        #expect(nanoseconds(of: duration) == expected)
    }

    @Test func `deadlines are rounded up to sd-event's microseconds`() {
        #expect(microseconds(roundingUp: 0) == 0)
        #expect(microseconds(roundingUp: 1) == 1)
        #expect(microseconds(roundingUp: 1000) == 1)
        #expect(microseconds(roundingUp: 1001) == 2)
        #expect(microseconds(roundingUp: .max) == .max)
        #expect(microseconds(roundingUp: .max - 1) == UInt64.max / 1000 + 1)
    }
}
