internal import GreenroomControl
internal import GreenroomLinux

/// The launches in the file, with one row for each.
///
/// A row without a reason is open: its instance has not ended. Later reports about an instance
/// complete its open rows.
struct LaunchTable {
    let database: Database

    /// Versions of the file. A newer one belongs to a newer greenroom-history.
    private static let version: Int64 = 3

    /// Opens the file. A transaction is either complete in the file or absent, however this process
    /// or the machine ends.
    ///
    /// A transaction is appended to SQLite's write-ahead log. The disk is flushed only when the log
    /// is copied into the file: when the database is closed, or after some megabytes. Each query
    /// also writes what has just happened, so otherwise a client that asks repeatedly could make
    /// the disk flush all the time. If the power fails, the last seconds are lost.
    init(path: String) throws(DatabaseError) {
        database = try Database(path: path)
        try prepare()
    }

    private func prepare() throws(DatabaseError) {
        // Only this process uses the file, so SQLite needs no shared memory. This comes first,
        // because the mode applies from the first access to the file.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        // Deleted data is overwritten, and the file shrinks (`auto_vacuum`). That setting is
        // written into the file each time it is made, so it is made only once: otherwise launches
        // could not be read while the disk is full.
        try database.execute("PRAGMA secure_delete = ON")
        var pageCount: Int64 = 0
        try database.execute("PRAGMA page_count") { pageCount = $0.integer(0) ?? 0 }
        if pageCount == 0 { try database.execute("PRAGMA auto_vacuum = FULL") }
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA temp_store = MEMORY")
        var version: Int64?
        try database.execute("PRAGMA user_version") { version = $0.integer(0) }
        guard version != Self.version else { return }
        // A file of version 1 has no paused instances; one of version 2 has no depths.
        guard 0...2 ~= version ?? 0 else {
            throw DatabaseError(code: 0, description: "the file was made by a newer version")
        }
        try database.inTransaction { () throws(DatabaseError) in
            try database.execute(
                """
                CREATE TABLE IF NOT EXISTS launches (
                    id INTEGER PRIMARY KEY,
                    app TEXT NOT NULL, user INTEGER NOT NULL, instance INTEGER NOT NULL,
                    launch TEXT NOT NULL, requested INTEGER NOT NULL,
                    caller_user INTEGER, caller_process INTEGER, caller_program TEXT,
                    kind TEXT NOT NULL, cold_reason TEXT, anew_reason TEXT,
                    elapsed INTEGER, ready INTEGER,
                    reason TEXT, status INTEGER, signal INTEGER, dumped INTEGER, last_state TEXT,
                    ended INTEGER, ran INTEGER)
                """)
            try prepareForPauses()
            if version == 2 { try database.execute("ALTER TABLE pauses ADD COLUMN depth TEXT") }
            try database.execute("CREATE INDEX IF NOT EXISTS by_user ON launches (user)")
            try database.execute("CREATE INDEX IF NOT EXISTS by_time ON launches (requested)")
            try database.execute(
                "CREATE INDEX IF NOT EXISTS open ON launches (instance) WHERE reason IS NULL")
            try database.execute("PRAGMA user_version = \(Self.version)")
        }
    }

    // MARK: Writing

    /// - Parameter now: CLOCK_REALTIME in microseconds.
    func append(_ batch: HistoryBatch, now: Int64) throws(DatabaseError) {
        try database.inTransaction { () throws(DatabaseError) in
            if let living = batch.living { try closeLost(butOf: living) }
            for launch in batch.launches { try insert(launch) }
            for update in batch.updates { try complete(update) }
            for pause in batch.pauses { try insert(pause) }
            try prune(batch, now: now)
        }
    }

    /// Closes the rows of instances that ended while no daemon was running.
    private func closeLost(butOf living: [UInt64]) throws(DatabaseError) {
        let numbers = living.map { String($0) }.joined(separator: ",")
        try database.execute(
            "UPDATE launches SET reason = 'unknown' WHERE reason IS NULL AND instance NOT IN (\(numbers))"
        )
    }

    private func insert(_ launch: Control.LaunchRecord) throws(DatabaseError) {
        try database.execute(
            """
            INSERT INTO launches (app, user, instance, launch, requested, caller_user,
                caller_process, caller_program, kind, cold_reason, anew_reason, elapsed, ready,
                reason, status, signal, dumped, last_state, ended, ran)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(launch.app), .init(launch.userId), .init(launch.instance),
                .text(launch.launchIdentifier), .integer(launch.requestTimestampUSec),
                .init(launch.caller?.userId), .init(launch.caller?.processId),
                .init(launch.caller?.program), .text(launch.kind.rawValue),
                .init(launch.coldReason?.rawValue), .init(launch.anewReason?.rawValue),
                .init(launch.elapsedUSec), .init(launch.readyUSec),
            ] + end(of: launch))
    }

    private func end(of launch: Control.LaunchRecord) -> [Database.Value] {
        let exit = launch.exit
        return [
            .init(exit?.reason.rawValue), .init(exit?.status), .init(exit?.signal),
            .init(exit.map { $0.coreDumped ? 1 : 0 }), .init(exit?.lastState?.rawValue),
            .init(exit?.timestampUSec), .init(launch.ranUSec),
        ]
    }

    private func complete(_ launch: Control.LaunchRecord) throws(DatabaseError) {
        let open: [Database.Value] = [.init(launch.instance), .text(launch.app)]
        if let ready = launch.readyUSec {
            try database.execute(
                """
                UPDATE launches SET ready = ? WHERE instance = ? AND app = ? AND reason IS NULL
                    AND ready IS NULL AND kind IN ('cold', 'prewarmed', 'started_anew')
                """, [.integer(ready)] + open)
        }
        guard launch.exit != nil else { return }
        try database.execute(
            """
            UPDATE launches SET reason = ?, status = ?, signal = ?, dumped = ?, last_state = ?,
                ended = ?, ran = ? WHERE instance = ? AND app = ? AND reason IS NULL
            """, end(of: launch) + open)
        // The batch with the beginning of the launch was lost.
        if database.changeCount == 0 { try insert(launch) }
    }

    private func prune(_ batch: HistoryBatch, now: Int64) throws(DatabaseError) {
        let users = Set((batch.launches + batch.updates).map(\.userId))
        try prune("launches", by: "requested", of: users, batch, now: now)
        try prune("pauses", by: "until", of: Set(batch.pauses.map(\.userId)), batch, now: now)
    }

    /// Removes the rows of a table that are too old, and those of each user beyond the limit.
    private func prune(
        _ table: String, by time: String, of users: Set<UInt32>, _ batch: HistoryBatch, now: Int64
    ) throws(DatabaseError) {
        try database.execute(
            "DELETE FROM \(table) WHERE \(time) < ?",
            [.integer(now - Int64(batch.days) * 86_400_000_000)])
        for user in users {
            try database.execute(
                """
                DELETE FROM \(table) WHERE user = ?1 AND id <= (SELECT id FROM \(table)
                    WHERE user = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
                """, [.init(user), .init(batch.launchesPerUser)])
        }
    }

    func forget(app: String?, user: UInt32?) throws(DatabaseError) -> Int {
        let count = try forget("launches", app: app, user: user)
        let pauseCount = try forget("pauses", app: app, user: user)
        // The rows must be gone from the file and from the log before the call is answered.
        if count + pauseCount > 0 { try database.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        return count
    }

    /// - Returns: how many rows were removed from the table.
    private func forget(
        _ table: String, app: String?, user: UInt32?
    ) throws(DatabaseError) -> Int {
        try database.execute(
            "DELETE FROM \(table) WHERE (?1 IS NULL OR app GLOB ?1) AND (?2 IS NULL OR user = ?2)",
            [.init(app), .init(user)])
        return database.changeCount
    }

    // MARK: Reading

    /// The launches that were requested within the query's time, the latest first.
    func page(
        _ query: Control.HistoryQuery, user: UInt32?
    ) throws(DatabaseError) -> Control.HistoryPage<Control.LaunchRecord> {
        let rows = RowConditions(
            query, of: user, in: ["user", "caller_user"], from: "requested", to: "requested")
        return try page(
            query, rows, of: "launches", Self.launchColumns, Control.LaunchRecord.init)
    }

    /// The columns that `Control.LaunchRecord.init` reads.
    static let launchColumns = """
        id, app, user, instance, launch, requested, caller_user, caller_process, caller_program,
            kind, cold_reason, anew_reason, elapsed, ready, reason, status, signal, dumped,
            last_state, ended, ran
        """

    /// - Parameters:
    /// - columns: the columns that `record` reads, after `id`.
    func page<Record>(
        _ query: Control.HistoryQuery, _ rows: RowConditions, of table: String, _ columns: String,
        _ record: (Database.Row) -> Record
    ) throws(DatabaseError) -> Control.HistoryPage<Record> {
        let limit = min(query.limit ?? .max, Control.HistoryQuery.pageLimit)
        var page = Control.HistoryPage<Record>()
        var last: Int64?
        try database.execute(
            """
            SELECT \(columns) FROM \(table) WHERE \(rows.text)
            ORDER BY id DESC LIMIT \(limit + 1)
            """, rows.values
        ) { row in
            if page.records.count == limit {
                page.next = last
            } else {
                page.records.append(record(row))
                last = row.integer(0)
            }
        }
        return page
    }
}

extension Control.LaunchRecord {
    init(_ row: Database.Row) {
        self.init(
            app: row.text(1) ?? "", userId: UInt32(clamping: row.integer(2) ?? 0),
            instance: UInt64(clamping: row.integer(3) ?? 0), launchIdentifier: row.text(4) ?? "",
            kind: .cold, requestTimestampUSec: row.integer(5) ?? 0)
        if let user = row.integer(6) {
            caller = Control.Caller(
                userId: UInt32(clamping: user), processId: Int32(clamping: row.integer(7) ?? 0),
                program: row.text(8))
        }
        kind = .init(rawValue: row.text(9) ?? "")
        coldReason = row.text(10).map { .init(rawValue: $0) }
        anewReason = row.text(11).map { .init(rawValue: $0) }
        elapsedUSec = row.integer(12)
        readyUSec = row.integer(13)
        if let reason = row.text(14) {
            var exit = Control.ExitRecord(
                reason: .unknown, status: row.integer(15).map { UInt8(clamping: $0) },
                signal: row.integer(16).map { Int32(clamping: $0) },
                coreDumped: row.integer(17) == 1, timestampUSec: row.integer(19) ?? 0)
            exit.reason = .init(rawValue: reason)
            exit.lastState = row.text(18).map { .init(rawValue: $0) }
            self.exit = exit
        }
        ranUSec = row.integer(20)
    }
}
