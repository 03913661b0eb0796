internal import GreenroomControl

/// The paused instances in the file, with one row for each that was launched or has ended. A row
/// therefore never changes, and whatever a killed daemon had not written is lost.
extension LaunchTable {
    func prepareForPauses() throws(DatabaseError) {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS pauses (
                id INTEGER PRIMARY KEY,
                app TEXT NOT NULL, user INTEGER NOT NULL, instance INTEGER NOT NULL,
                paused INTEGER NOT NULL, until INTEGER NOT NULL,
                preparation INTEGER, processor INTEGER, bytes INTEGER NOT NULL, kind TEXT,
                depth TEXT)
            """)
        try database.execute("CREATE INDEX IF NOT EXISTS pauses_by_user ON pauses (user)")
        try database.execute("CREATE INDEX IF NOT EXISTS pauses_by_time ON pauses (until)")
    }

    func insert(_ pause: Control.PauseRecord) throws(DatabaseError) {
        try database.execute(
            """
            INSERT INTO pauses (app, user, instance, paused, until, preparation, processor, bytes,
                kind, depth)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(pause.app), .init(pause.userId), .init(pause.instance),
                .integer(pause.pausedTimestampUSec), .integer(pause.untilTimestampUSec),
                .init(pause.preparationUSec), .init(pause.processorUSec), .init(pause.byteCount),
                .init(pause.kind?.rawValue), .init(pause.depth?.rawValue),
            ])
    }

    private static let columns =
        "id, app, user, instance, paused, until, preparation, processor, bytes, kind, depth"

    /// The latest paused instances of each of the user's apps at each depth, the latest first: those
    /// that were launched, and those that were not. So an app keeps its measurements however often
    /// another app is prepared, or the app itself without a launch.
    func latestPauses(
        of user: UInt32, perApp: Int, limit: Int
    ) throws(DatabaseError) -> [Control.PauseRecord] {
        var pauses: [Control.PauseRecord] = []
        try database.execute(
            """
            SELECT \(Self.columns) FROM (
                SELECT *, ROW_NUMBER() OVER (
                    PARTITION BY app, depth, kind IS 'prewarmed' ORDER BY id DESC) AS place
                FROM pauses WHERE user = ?)
            WHERE place <= ? ORDER BY id DESC LIMIT ?
            """, [.init(user), .init(perApp), .init(limit)]
        ) { pauses.append(Control.PauseRecord($0)) }
        return pauses
    }

    /// The instances that were paused at some moment within the query's time, the latest first.
    func pauses(
        _ query: Control.HistoryQuery, user: UInt32?
    ) throws(DatabaseError) -> Control.HistoryPage<Control.PauseRecord> {
        try page(
            query, RowConditions(query, of: user, in: ["user"], from: "until", to: "paused"),
            of: "pauses", Self.columns, Control.PauseRecord.init)
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
        depth = row.text(10).map { .init(rawValue: $0) }
    }
}
