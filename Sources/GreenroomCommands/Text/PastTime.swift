import ArgumentParser
import Glibc
import UnitFile

/// A time as people write it, in local time: `2026-05-01`, `2026-05-01 14:30`, `14:30`, `today`,
/// `yesterday`, `now`, `@1767225600`, or how long ago it is: `2h`, `-2h`, `3 days ago`
/// (systemd.time(7)).
struct PastTime: ExpressibleByArgument, Equatable {
    /// CLOCK_REALTIME in microseconds.
    let microseconds: Int64

    init?(argument: String) { self.init(argument, now: Phrase.now) }

    init?(_ text: String, now: Int64) {
        if let time = Self.time(text, now) {
            microseconds = time
        } else {
            return nil
        }
    }

    private static func time(_ text: String, _ now: Int64) -> Int64? {
        var today = time_t(now / 1_000_000)
        var fields = unsafe tm()
        unsafe localtime_r(&today, &fields)
        unsafe (fields.tm_hour, fields.tm_min, fields.tm_sec) = (0, 0, 0)
        unsafe fields.tm_isdst = -1
        switch text {
        case "now": return now
        case "today": return unsafe micros(&fields)
        case "yesterday":
            unsafe fields.tm_mday -= 1
            return unsafe micros(&fields)
        case _: break
        }
        if text.hasPrefix("@") {
            return Int64(text.dropFirst()).flatMap {
                $0.multipliedReportingOverflow(by: 1_000_000).overflow ? nil : $0 * 1_000_000
            }
        }
        for pattern in ["0-0-0 0:0:0", "0-0-0T0:0:0", "0-0-0 0:0", "0-0-0"] {
            guard let read = numbers(text, pattern) else { continue }
            unsafe (fields.tm_year, fields.tm_mon, fields.tm_mday) = (
                read[0] - 1900, read[1] - 1, read[2]
            )
            return unsafe micros(&fields, clock: read.dropFirst(3))
        }
        for pattern in ["0:0:0", "0:0"] {
            if let read = numbers(text, pattern) { return unsafe micros(&fields, clock: read[...]) }
        }
        var span = Substring(text)
        if span.hasPrefix("-") { span = span.dropFirst() }
        if span.hasSuffix(" ago") { span = span.dropLast(4) }
        guard
            let duration = try? Value(String(span)).duration()
        else { return nil }
        let (seconds, attoseconds) = duration.components
        guard seconds < now / 1_000_000 else { return nil }
        return now - seconds * 1_000_000 - attoseconds / 1_000_000_000_000
    }

    /// The numbers in `text`; nil unless it has the form `pattern`, where `0` stands for a number.
    private static func numbers(_ text: String, _ pattern: String) -> [Int32]? {
        var rest = text.utf8[...]
        var numbers: [Int32] = []
        for byte in pattern.utf8 {
            if byte == UInt8(ascii: "0") {
                let digits = rest.prefix { 48...57 ~= $0 }
                guard digits.count <= 4, let number = Int32(String(digits) ?? "") else {
                    return nil
                }
                numbers.append(number)
                rest = rest[digits.endIndex...]
            } else {
                guard rest.popFirst() == byte else { return nil }
            }
        }
        return rest.isEmpty ? numbers : nil
    }

    /// - Parameter clock: hours, minutes and seconds; the day's beginning if there are none.
    private static func micros(_ fields: inout tm, clock: ArraySlice<Int32> = []) -> Int64? {
        let clock = Array(clock) + [0, 0, 0]
        unsafe (fields.tm_hour, fields.tm_min, fields.tm_sec) = (clock[0], clock[1], clock[2])
        let (month, day) = unsafe (fields.tm_mon, fields.tm_mday)
        let time = unsafe mktime(&fields)
        // mktime(3) turns the 31st of June into the 1st of July.
        guard time >= 0, clock[0] < 24, clock[1] < 60, clock[2] < 61 else { return nil }
        let isSame = unsafe fields.tm_mon == month && fields.tm_mday == day
        guard isSame || day <= 0 else { return nil }
        return Int64(time) * 1_000_000
    }
}
