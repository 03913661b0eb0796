internal import GreenroomControl

/// The rows of a table that a query selects: the conditions, and the values for their question
/// marks.
struct RowConditions {
    private var conditions = ["1"]
    private(set) var values: [Database.Value] = []

    var text: String { conditions.joined(separator: " AND ") }

    /// - Parameters:
    ///   - user: the user whose rows are selected; nil means everybody's.
    ///   - columns: the columns of which at least one must contain the user.
    ///   - first: the column that must not be before the query's time.
    ///   - last: the column that must not be after it.
    init(
        _ query: Control.HistoryQuery, of user: UInt32?, in columns: [String],
        from first: String, to last: String
    ) {
        require("app GLOB ?", query.apps.map { .text($0) })
        if let user {
            let any = columns.map { "\($0) = ?" }.joined(separator: " OR ")
            conditions.append("(\(any))")
            values += columns.map { _ in .init(user) }
        }
        if let since = query.sinceTimestampUSec { require("\(first) >= ?", [.integer(since)]) }
        if let until = query.untilTimestampUSec { require("\(last) <= ?", [.integer(until)]) }
        if let before = query.before { require("id < ?", [.integer(before)]) }
    }

    /// At least one of the values must meet the condition, unless there are no values.
    private mutating func require(_ condition: String, _ more: [Database.Value]) {
        guard !more.isEmpty else { return }
        let any = more.map { _ in condition }.joined(separator: " OR ")
        conditions.append("(\(any))")
        values += more
    }
}
