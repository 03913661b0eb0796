/// A calendar event expression, as systemd.time(7) describes it: `Mon..Fri *-*-* 10:00/15`.
///
/// Absent parts are every date, and midnight. `~` counts days from the end of the month. A time zone may
/// follow; without one it is that of the machine. `@SECONDS` is one moment, in seconds since 1970.
public struct CalendarExpression: Hashable, Sendable {
    /// One of the values that a part of an expression lists: `5`, `2..7`, `0/15`, `1..9/2`.
    struct Component: Hashable, Sendable {
        var start: Int
        /// Nil: to the end of the part.
        var stop: Int?
        /// 0: the start alone.
        var step = 0
    }

    /// Bit 0 is Monday; all of them where none is named.
    var weekdays: UInt8 = 0x7f
    /// Empty is any.
    var years: [Component] = []
    var months: [Component] = []
    var days: [Component] = []
    var countsFromEndOfMonth = false
    var hours = [Component(start: 0)]
    var minutes = [Component(start: 0)]
    /// Seconds, in microseconds.
    var microseconds = [Component(start: 0)]
    public internal(set) var isUTC = false
    /// Another time zone, by its name in the IANA database: whoever asks for times brings its rules.
    public internal(set) var zone: String?

    /// As systemd's: no expression is asked about later times.
    static let years = 1970...2199
    static let second = 1_000_000
    static let minute = 60 * second
    static let hour = 60 * minute
    static let day = 24 * hour
    /// Of a time zone's name.
    static let zoneLimit = 64
    /// Values in one part: more hides a mistake.
    static let componentLimit = 240

    /// Midnight.
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
