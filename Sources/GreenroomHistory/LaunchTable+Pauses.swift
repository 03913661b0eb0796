internal import GreenroomControl

/// The paused instances in the file, a row for each that was launched or has ended. So a row never
/// changes, and what a daemon that was killed had not written is lost.
extension LaunchTable {
    func prepareForPauses() throws(DatabaseError) {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS pauses (
                id INTEGER PRIMARY KEY,
                app TEXT NOT NULL, user INTEGER NOT NULL, instance INTEGER NOT NULL,
                paused INTEGER NOT NULL, until INTEGER NOT NULL,
                preparation INTEGER, processor INTEGER, bytes INTEGER NOT NULL, kind TEXT)
            """)
        try database.execute("CREATE INDEX IF NOT EXISTS pauses_by_user ON pauses (user)")
        try database.execute("CREATE INDEX IF NOT EXISTS pauses_by_time ON pauses (until)")
    }

    func insert(_ pause: Control.PauseRecord) throws(DatabaseError) {
        try database.execute(
            """
            INSERT INTO pauses (app, user, instance, paused, until, preparation, processor, bytes,
                kind)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(pause.app), .init(pause.userId), .init(pause.instance),
                .integer(pause.pausedTimestampUSec), .integer(pause.untilTimestampUSec),
                .init(pause.preparationUSec), .init(pause.processorUSec), .init(pause.byteCount),
                .init(pause.kind?.rawValue),
            ])
    }

    /// As many are kept as of launches, and for as long.
    func prunePauses(_ batch: HistoryBatch, now: Int64) throws(DatabaseError) {
        try database.execute(
            "DELETE FROM pauses WHERE until < ?",
            [.integer(now - Int64(batch.days) * 86_400_000_000)])
        for user in Set(batch.pauses.map(\.userId)) {
            try database.execute(
                """
                DELETE FROM pauses WHERE user = ?1 AND id <= (SELECT id FROM pauses
                    WHERE user = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
                """, [.init(user), .init(batch.launchesPerUser)])
        }
    }

    /// - Returns: how many rows are gone.
    func forgetPauses(app: String?, user: UInt32?) throws(DatabaseError) -> Int {
        try database.execute(
            "DELETE FROM pauses WHERE (?1 IS NULL OR app GLOB ?1) AND (?2 IS NULL OR user = ?2)",
            [.init(app), .init(user)])
        return database.changeCount
    }

    /// The paused instances that were paused at some moment of the query's time, the latest first.
    func pauses(
        _ query: Control.HistoryQuery, user: UInt32?
    ) throws(DatabaseError) -> Control.PausePage {
        var conditions = ["1"]
        var values: [Database.Value] = []
        func require(_ condition: String, _ more: [Database.Value]) {
            conditions.append(condition)
            values += more
        }
        if !query.apps.isEmpty {
            let any = query.apps.map { _ in "app GLOB ?" }.joined(separator: " OR ")
            require("(\(any))", query.apps.map { .text($0) })
        }
        if let user { require("user = ?", [.init(user)]) }
        if let since = query.sinceTimestampUSec { require("until >= ?", [.integer(since)]) }
        if let until = query.untilTimestampUSec { require("paused <= ?", [.integer(until)]) }
        if let before = query.before { require("id < ?", [.integer(before)]) }
        let limit = min(query.limit ?? .max, Control.HistoryQuery.pageLimit)
        var page = Control.PausePage()
        var last: Int64?
        try database.execute(
            """
            SELECT id, app, user, instance, paused, until, preparation, processor, bytes, kind
            FROM pauses WHERE \(conditions.joined(separator: " AND "))
            ORDER BY id DESC LIMIT \(limit + 1)
            """, values
        ) { row in
            if page.pauses.count == limit {
                page.next = last
            } else {
                page.pauses.append(Control.PauseRecord(row))
                last = row.integer(0)
            }
        }
        return page
    }
}

extension Control.PauseRecord {
    fileprivate init(_ row: Database.Row) {
        self.init(
            app: row.text(1) ?? "", userId: UInt32(clamping: row.integer(2) ?? 0),
            instance: UInt64(clamping: row.integer(3) ?? 0),
            pausedTimestampUSec: row.integer(4) ?? 0, untilTimestampUSec: row.integer(5) ?? 0,
            byteCount: UInt64(clamping: row.integer(8) ?? 0))
        preparationUSec = row.integer(6)
        processorUSec = row.integer(7)
        kind = row.text(9).map { .init(rawValue: $0) }
    }
}
