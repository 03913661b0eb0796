extension Duration {
    /// The value of `infinity` in a file: a hundred years, so that it can be added and scaled
    /// without overflow. Longer spans are not accepted.
    public static let unlimited: Duration = .seconds(3_155_760_000)
}

extension Value {
    /// Reads a time span of systemd.time(7): `5min 20s`, `1.5h`, `infinity`. A bare number is in
    /// seconds.
    public func duration() throws(ValueError) -> Duration {
        if text == "infinity" { return .unlimited }
        var total: UInt64 = 0
        var rest = text[...].utf8
        var hasPart = false
        func offset() -> Int { text.utf8.count - rest.count }
        while true {
            rest = rest.drop { $0 == 32 || $0 == 9 }
            guard !rest.isEmpty else { break }
            let wrong = ValueError(
                offset: offset(),
                message: "'\(shown)' is not a time span such as 20, 5min 20s or infinity")
            let number = try decimal(rest, wrong)
            rest = rest.dropFirst(number.length).drop { $0 == 32 || $0 == 9 }
            let unit = String(Substring(rest.prefix { isUnitByte($0) }))
            guard let nanoseconds = nanosecondsPerUnit[unit] else {
                throw ValueError(
                    offset: offset(),
                    message: "'\(unit)' is not a unit of time; there are us, ms, s, min, h, d, w, "
                        + "month and y")
            }
            rest = rest.dropFirst(unit.utf8.count)
            guard let part = number.scaled(by: nanoseconds) else { throw tooLong }
            let (sum, carry) = total.addingReportingOverflow(part)
            guard !carry else { throw tooLong }
            total = sum
            hasPart = true
        }
        guard hasPart else { throw ValueError(message: "a time span is missing") }
        let span = Duration.nanoseconds(Int64(clamping: total))
        guard span <= .unlimited else { throw tooLong }
        return span
    }

    private var tooLong: ValueError {
        ValueError(message: "'\(shown)' is more than a hundred years; write infinity")
    }
}

/// Whether a byte is a letter or part of μ.
private func isUnitByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte >= 0x80
}

/// The units of systemd.time(7). A month is 30.44 days and a year 365.25.
private let nanosecondsPerUnit: [String: UInt64] = {
    let second: UInt64 = 1_000_000_000
    let names: [(UInt64, [String])] = [
        (1, ["nsec", "ns"]),
        (1000, ["usec", "us", "µs", "μs"]),
        (1_000_000, ["msec", "ms"]),
        (second, ["", "seconds", "second", "sec", "s"]),
        (60 * second, ["minutes", "minute", "min", "m"]),
        (3600 * second, ["hours", "hour", "hr", "h"]),
        (86400 * second, ["days", "day", "d"]),
        (604_800 * second, ["weeks", "week", "w"]),
        (2_629_800 * second, ["months", "month", "M"]),
        (31_557_600 * second, ["years", "year", "y"]),
    ]
    var table: [String: UInt64] = [:]
    for (nanoseconds, spellings) in names {
        for spelling in spellings { table[spelling] = nanoseconds }
    }
    return table
}()
