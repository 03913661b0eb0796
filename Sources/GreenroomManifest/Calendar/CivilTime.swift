/// Days and dates of the proleptic Gregorian calendar, for any year. Pure functions that do not use
/// the C library.
enum CivilDate {
    /// Days since 1970-01-01. Years are counted from March, so that the leap day comes last.
    static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func date(ofDay days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    static func dayCount(year: Int, month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Monday is 0; 1970-01-01 was a Thursday.
    static func weekday(ofDay days: Int) -> Int { ((days + 3) % 7 + 7) % 7 }
}

/// The time that wall clocks show in a time zone.
public struct TimeZoneRules: Sendable {
    /// The zone's offset in seconds east of Greenwich at an instant, given in seconds since 1970
    /// UTC.
    let offset: @Sendable (Int64) -> Int64

    public init(_ offset: @escaping @Sendable (Int64) -> Int64) { self.offset = offset }

    public static var utc: TimeZoneRules { TimeZoneRules { _ in 0 } }

    static let second: Int64 = 1_000_000
    private static let day: Int64 = 86_400

    /// The time that a wall clock shows at an instant, both in microseconds.
    func wallTime(at instant: Int64) -> Int64 {
        instant + offset(floorDivide(instant, Self.second)) * Self.second
    }

    /// The instants at which a wall clock shows a time.
    enum Occurrence: Equatable {
        case at([Int64])
        /// Never, because clocks are put forward past it, to this time.
        case skipped(until: Int64)
    }

    func occurrences(ofWallTime wall: Int64) -> Occurrence {
        let seconds = floorDivide(wall, Self.second)
        // Clocks are put forward or back at most once in two days.
        let before = offset(seconds - Self.day)
        let after = offset(seconds + Self.day)
        var found: [Int64] = []
        for candidate in before == after ? [before] : [max(before, after), min(before, after)]
        where offset(seconds - candidate) == candidate {
            found.append(wall - candidate * Self.second)
        }
        if !found.isEmpty { return .at(found) }
        var (low, high) = (seconds - 2 * Self.day, seconds + 2 * Self.day)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if offset(middle) == before { low = middle } else { high = middle }
        }
        return .skipped(until: (high + offset(high)) * Self.second)
    }
}

/// Division that rounds down, also below zero.
func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
}
