extension CalendarExpression {
    /// The first time after an instant, both in microseconds since 1970 UTC; nil if there is none.
    ///
    /// - Parameter zone: the rules of the time zone ``zone``, or the machine's if that is nil.
    ///
    /// If clocks are put forward on a day, times that do not exist on that day are skipped. If
    /// clocks are put back and a time comes twice, the first one counts.
    public func next(after instant: Int64, in zone: TimeZoneRules) -> Int64? {
        let zone = isUTC ? .utc : zone
        var wall = zone.wallTime(at: instant)
        while let candidate = nextWallTime(after: Int(wall)) {
            switch zone.occurrences(ofWallTime: Int64(candidate)) {
            case .skipped(let end): wall = max(end - 1, Int64(candidate))
            case .at(let instants):
                if let next = instants.first(where: { $0 > instant }) { return next }
                wall = Int64(candidate)
            }
        }
        return nil
    }

    /// The next matching time on a clock that is never put forward or back.
    private func nextWallTime(after wall: Int) -> Int? {
        let start = wall + 1
        let startDay = Int(floorDivide(Int64(start), Int64(Self.day)))
        let from = CivilDate.date(ofDay: startDay)
        var year = max(from.year, Self.years.lowerBound)
        while let found = Self.first(years, from: year, to: Self.years.upperBound) {
            var month = found == from.year ? from.month : 1
            while let next = Self.first(months, from: month, to: 12) {
                if let time = nextWallTime(year: found, month: next, notBefore: start) {
                    return time
                }
                month = next + 1
            }
            year = found + 1
        }
        return nil
    }

    private func nextWallTime(year: Int, month: Int, notBefore start: Int) -> Int? {
        let count = CivilDate.dayCount(year: year, month: month)
        let components = countsFromEndOfMonth ? days.compactMap { $0.counted(from: count) } : days
        // This month has none of the days. (An empty list means any day.)
        if components.isEmpty, !days.isEmpty { return nil }
        let first = CivilDate.days(year: year, month: month, day: 1)
        var day = max(1, Int(floorDivide(Int64(start), Int64(Self.day))) - first + 1)
        while let found = Self.first(components, from: day, to: count) {
            let number = first + found - 1
            if weekdays & (1 << CivilDate.weekday(ofDay: number)) != 0,
                let time = firstTime(notBefore: max(0, start - number * Self.day))
            {
                return number * Self.day + time
            }
            day = found + 1
        }
        return nil
    }

    /// The first matching time of day that is not before `start`.
    private func firstTime(notBefore start: Int) -> Int? {
        var hour = start / Self.hour
        while let foundHour = Self.first(hours, from: hour, to: 23) {
            let rest = max(0, start - foundHour * Self.hour)
            var minute = rest / Self.minute
            while let foundMinute = Self.first(minutes, from: minute, to: 59) {
                let remaining = max(0, rest - foundMinute * Self.minute)
                if let found = Self.first(microseconds, from: remaining, to: Self.minute - 1) {
                    return foundHour * Self.hour + foundMinute * Self.minute + found
                }
                minute = foundMinute + 1
            }
            hour = foundHour + 1
        }
        return nil
    }

    private static func first(_ components: [Component], from: Int, to end: Int) -> Int? {
        if components.isEmpty { return from <= end ? from : nil }
        return components.compactMap { $0.first(from: from, to: end) }.min()
    }
}

extension CalendarExpression.Component {
    fileprivate func first(from: Int, to end: Int) -> Int? {
        if start >= from { return start <= end ? start : nil }
        guard step > 0 else { return nil }
        let next = start + (from - start + step - 1) / step * step
        return next <= min(stop ?? end, end) ? next : nil
    }

    /// Converts days that `~` counts from the end of the month, where the last day is 1.
    fileprivate func counted(from dayCount: Int) -> Self? {
        var result = self
        result.start = dayCount + 1 - start
        if let stop {
            result.stop = result.start
            result.start = dayCount + 1 - stop
        }
        return result.start >= 1 ? result : nil
    }
}
