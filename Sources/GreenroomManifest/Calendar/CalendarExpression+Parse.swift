public import UnitFile

extension CalendarExpression {
    /// - Throws: the error and its position.
    public init(_ text: String) throws(ValueError) {
        var rest = text[...]
        let isUTC = rest.lowercased().hasSuffix(" utc")
        let zone = isUTC ? nil : try Self.takeZone(&rest)
        if isUTC { rest = rest.dropLast(4) }
        if let long = Self.shorthands[rest.lowercased()] { rest = long[...] }
        var reader = CalendarReader(rest)
        self = try reader.expression()
        // (Seconds since 1970 are in UTC in any case.)
        self.isUTC = self.isUTC || isUTC
        self.zone = zone
    }

    /// Takes the time zone, which is the last word if it begins with a letter: `Europe/Berlin`,
    /// `Etc/GMT+5`, `CET`.
    private static func takeZone(_ text: inout Substring) throws(ValueError) -> String? {
        guard let space = text.lastIndex(of: " ") else { return nil }
        let word = text[text.index(after: space)...]
        guard let first = word.utf8.first, 0x61...0x7a ~= first | 0x20 else { return nil }
        let isName = word.utf8.allSatisfy {
            0x61...0x7a ~= $0 | 0x20 || 0x30...0x39 ~= $0 || "+-_/".utf8.contains($0)
        }
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        guard isName, word.utf8.count <= zoneLimit, !parts.contains("") else {
            throw ValueError(
                offset: text.utf8.distance(from: text.startIndex, to: space) + 1,
                message: "a time zone is named as in Europe/Berlin, or is UTC")
        }
        text = text[..<space]
        return String(word)
    }
}

/// Reads an expression from left to right: weekdays, date and time, any of which may be missing.
private struct CalendarReader {
    private let whole: [UInt8]
    private var position = 0

    private static let weekdays = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    init(_ text: Substring) { whole = Array(text.utf8) }

    private typealias Component = CalendarExpression.Component

    mutating func expression() throws(ValueError) -> CalendarExpression {
        guard !whole.isEmpty else { throw fault("there is no calendar expression") }
        var result = CalendarExpression()
        try readWeekdays(&result)
        if take("@") {
            try readTimestamp(&result)
        } else {
            try readDate(&result)
            try readTime(&result)
        }
        guard position == whole.count else {
            throw fault(
                "this is not part of a calendar expression (a time zone may follow the time)")
        }
        return result
    }

    // MARK: Weekdays

    private mutating func readWeekdays(_ result: inout CalendarExpression) throws(ValueError) {
        guard let first = takeWeekday() else { return }
        result.weekdays = 0
        var day = first
        while true {
            var last = day
            if take("..") || take("-") {
                guard let end = takeWeekday(), end >= day else {
                    throw fault("a range of weekdays must end with a later one, as in Mon..Fri")
                }
                last = end
            }
            for bit in day...last { result.weekdays |= 1 << UInt8(bit) }
            guard take(",") else { break }
            guard let next = takeWeekday() else { throw fault("a weekday is missing") }
            day = next
        }
        guard position == whole.count || whole[position] == UInt8(ascii: " ") else {
            throw fault("weekdays and date must be separated by a space")
        }
        skipSpaces()
    }

    /// Takes the name of a weekday, either whole or its first three letters.
    private mutating func takeWeekday() -> Int? {
        let letters = whole[position...].prefix { 0x61...0x7a ~= $0 | 0x20 }
        let word = String(decoding: letters, as: UTF8.self).lowercased()
        guard
            let day = Self.weekdays.firstIndex(where: { $0 == word || $0.prefix(3) == word })
        else { return nil }
        position += letters.count
        return day
    }

    // MARK: Date

    private mutating func readDate(_ result: inout CalendarExpression) throws(ValueError) {
        guard position < whole.count else { return }
        let start = position
        var parts = [try components()]
        // The number was the hours of a time, not the beginning of a date.
        if position == whole.count || peek(":") {
            position = start
            return
        }
        while parts.count < 3, !result.countsFromEndOfMonth {
            if take("~") {
                result.countsFromEndOfMonth = true
            } else if !take("-") {
                break
            }
            parts.append(try components())
        }
        guard parts.count > 1, position == whole.count || peek(" ") else {
            throw fault("a date is YEAR-MONTH-DAY or MONTH-DAY; MONTH~DAY counts days from the end")
        }
        skipSpaces()
        result.days = try check(parts[parts.count - 1], 1...31, result.countsFromEndOfMonth)
        result.months = try check(parts[parts.count - 2], 1...12)
        if parts.count == 3 {
            result.years = try check(parts[0].map(Self.century), CalendarExpression.years)
        }
    }

    /// Adds the century to a year of two digits: 69 is 2069, 70 is 1970.
    private static func century(_ component: Component) -> Component {
        func whole(_ year: Int) -> Int { year < 70 ? year + 2000 : year < 100 ? year + 1900 : year }
        return Component(
            start: whole(component.start), stop: component.stop.map(whole), step: component.step)
    }

    // MARK: Time

    /// Reads seconds since 1970, which mean the same moment in every time zone.
    private mutating func readTimestamp(_ result: inout CalendarExpression) throws(ValueError) {
        guard let time = Int(takeDigits()) else {
            throw fault("expected seconds since 1970 after @")
        }
        let day = CalendarExpression.day / CalendarExpression.second
        let (year, month, number) = CivilDate.date(ofDay: min(time, day * 100_000) / day)
        guard CalendarExpression.years.contains(year) else {
            throw fault("that is after the year \(CalendarExpression.years.upperBound)")
        }
        result.isUTC = true
        result.years = [Component(start: year)]
        result.months = [Component(start: month)]
        result.days = [Component(start: number)]
        result.hours = [Component(start: time % day / 3600)]
        result.minutes = [Component(start: time % 3600 / 60)]
        result.microseconds = [Component(start: time % 60 * CalendarExpression.second)]
    }

    private mutating func readTime(_ result: inout CalendarExpression) throws(ValueError) {
        guard position < whole.count else { return }
        result.hours = try check(try components(), 0...23)
        guard take(":") else { throw fault("a time is HOURS:MINUTES or HOURS:MINUTES:SECONDS") }
        result.minutes = try check(try components(), 0...59)
        guard take(":") else { return }
        result.microseconds = try check(
            try components(isSeconds: true), 0...CalendarExpression.minute - 1)
    }

    // MARK: Parts

    /// Reads the values of a part. `*` gives an empty list, which means any value; for seconds, it
    /// means any whole second.
    private mutating func components(isSeconds: Bool = false) throws(ValueError) -> [Component] {
        let unit = isSeconds ? CalendarExpression.second : 1
        if take("*") { return isSeconds ? [Component(start: 0, step: unit)] : [] }
        var result: [Component] = []
        repeat {
            guard result.count < CalendarExpression.componentLimit else {
                throw fault("there are more than \(CalendarExpression.componentLimit) values")
            }
            var component = Component(start: try number(isSeconds))
            if take("..") {
                component.stop = try number(isSeconds)
                component.step = unit
            }
            if take("/") {
                component.step = try number(isSeconds)
                guard component.step > 0 else { throw fault("a step must be greater than 0") }
            }
            if let stop = component.stop, component.start <= stop,
                component.start + component.step > stop
            {
                // The range contains only its first value.
                component = Component(start: component.start)
            }
            result.append(component)
        } while take(",")
        return result
    }

    private mutating func number(_ isSeconds: Bool) throws(ValueError) -> Int {
        let digits = takeDigits()
        // A longer number is too large for every part.
        guard !digits.isEmpty, digits.count <= 6, let value = Int(digits) else {
            throw fault("a number is missing, or too large")
        }
        guard isSeconds else { return value }
        var fraction = 0
        if peek("."), !peek("..") {
            position += 1
            let digits = takeDigits()
            guard 1...6 ~= digits.count else {
                throw fault("seconds have at most six digits after the point")
            }
            let zeros = String(repeating: "0", count: 6 - digits.count)
            fraction = Int(digits + zeros) ?? 0
        }
        return value * CalendarExpression.second + fraction
    }

    private func check(
        _ components: [Component], _ bounds: ClosedRange<Int>, _ isFromEnd: Bool = false
    ) throws(ValueError) -> [Component] {
        for component in components {
            let span = bounds.upperBound - bounds.lowerBound
            guard bounds.contains(component.start), component.step <= span,
                component.stop.map(bounds.contains) ?? true
            else { throw fault("a value is out of its range") }
            if let stop = component.stop {
                guard component.start <= stop else {
                    throw fault("a range must end after its beginning")
                }
            } else if component.step > 0 {
                let next =
                    isFromEnd
                    ? component.start - component.step : component.start + component.step
                guard bounds.contains(next) else { throw fault("the step leads out of the range") }
            }
        }
        return components
    }

    // MARK: Characters

    private func peek(_ text: StaticString) -> Bool {
        let wanted = unsafe UnsafeBufferPointer(
            start: text.utf8Start, count: text.utf8CodeUnitCount)
        return unsafe whole[position...].starts(with: wanted)
    }

    private mutating func take(_ text: StaticString) -> Bool {
        guard peek(text) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    private mutating func takeDigits() -> String {
        let digits = whole[position...].prefix { 0x30...0x39 ~= $0 }
        position += digits.count
        return String(decoding: digits, as: UTF8.self)
    }

    private mutating func skipSpaces() {
        position += whole[position...].prefix { $0 == UInt8(ascii: " ") }.count
    }

    private func fault(_ message: String) -> ValueError {
        ValueError(offset: position, message: message)
    }
}
