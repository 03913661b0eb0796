internal import GreenroomControl

/// Which rows of a table a query means: the conditions, and the values of their question marks.
struct RowConditions {
    private var conditions = ["1"]
    private(set) var values: [Database.Value] = []

    var text: String { conditions.joined(separator: " AND ") }

    /// - Parameters:
    ///   - user: whose rows are meant; nil: everybody's.
    ///   - columns: those of which one must have the user.
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

    /// One of the values must meet the condition, if there is any.
    private mutating func require(_ condition: String, _ more: [Database.Value]) {
        guard !more.isEmpty else { return }
        let any = more.map { _ in condition }.joined(separator: " OR ")
        conditions.append("(\(any))")
        values += more
    }
}
