/// A calendar event expression, as systemd.time(7) describes it: `Mon..Fri *-*-* 10:00/15`.
///
/// Without a date, every date matches; without a time, midnight does. `~` counts days from the end
/// of the month. A time zone may follow; the default is the machine's. `@SECONDS` is one moment, in
/// seconds since 1970.
public struct CalendarExpression: Hashable, Sendable {
    /// One element of the list in a part of an expression: `5`, `2..7`, `0/15`, `1..9/2`.
    struct Component: Hashable, Sendable {
        var start: Int
        /// The last value; nil means the highest value of the part.
        var stop: Int?
        /// The step; 0 means only the start.
        var step = 0
    }

    /// One bit for each weekday; bit 0 is Monday. All are set if the expression names none.
    var weekdays: UInt8 = 0x7f
    /// An empty list means any value.
    var years: [Component] = []
    var months: [Component] = []
    var days: [Component] = []
    var countsFromEndOfMonth = false
    var hours = [Component(start: 0)]
    var minutes = [Component(start: 0)]
    /// Seconds, in microseconds.
    var microseconds = [Component(start: 0)]
    var isUTC = false
    /// A time zone's name in the IANA database. The caller of `next` provides its rules.
    public internal(set) var zone: String?

    /// The years that are searched, as in systemd.
    static let years = 1970...2199
    static let second = 1_000_000
    static let minute = 60 * second
    static let hour = 60 * minute
    static let day = 24 * hour
    /// The longest name of a time zone in bytes.
    static let zoneLimit = 64
    /// At most this many values in one part. An expression with more is a mistake.
    static let componentLimit = 240

    /// Every day at midnight.
    public static let daily = CalendarExpression()

    static let shorthands: [String: String] = [
        "minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00",
        "weekly": "Mon *-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
        "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
        "quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": "*-01,07-01 00:00:00",
        "semi-annually": "*-01,07-01 00:00:00", "biannually": "*-01,07-01 00:00:00",
        "bi-annually": "*-01,07-01 00:00:00",
    ]
}
