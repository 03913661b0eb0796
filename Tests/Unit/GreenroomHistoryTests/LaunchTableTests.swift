import Glibc
import GreenroomControl
import TestSupport
import Testing

@testable import GreenroomHistory

@Suite struct `The table of launches` {
    private static func batch(_ instances: UInt64...) -> HistoryBatch {
        var batch = HistoryBatch(days: 30, launchesPerUser: 100)
        batch.launches = instances.map {
            Control.LaunchRecord(
                app: "org.example.app", userId: 1, instance: $0, launchIdentifier: "", kind: .cold,
                requestTimestampUSec: now)
        }
        return batch
    }

    private static let now: Int64 = 1_000_000_000_000

    private static func instances(_ table: LaunchTable) throws -> [UInt64] {
        try table.page(Control.HistoryQuery(), user: nil).records.map(\.instance)
    }

    private static func bytes(_ folder: TemporaryDirectory) throws -> [UInt8] {
        try readFile(folder.path + "/history.db")
    }

    @Test func `shows at once what was added, and changes the file when it is closed`() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/history.db"
        do {
            let table = try LaunchTable(path: file)
            try table.append(Self.batch(1), now: Self.now)
        }
        let before = try Self.bytes(folder)
        var table: LaunchTable? = try LaunchTable(path: file)
        // SQLite makes the disk flush when it changes the file itself.
        for instance: UInt64 in 2...20 {
            try table?.append(Self.batch(instance), now: Self.now)
            #expect(try table.map(Self.instances)?.first == instance)
            #expect(try Self.bytes(folder) == before)
        }
        #expect(access(file + "-wal", F_OK) == 0 && access(file + "-shm", F_OK) != 0)
        table = nil
        #expect(try Self.bytes(folder) != before)
        #expect(try Self.instances(LaunchTable(path: file)) == (1...20).reversed())
    }

    @Test func `leaves nothing in its files of what is forgotten`() throws {
        let folder = try TemporaryDirectory()
        let table = try LaunchTable(path: folder.path + "/history.db")
        var batch = Self.batch(1, 2)
        batch.launches[0].app = "org.example.secret"
        try table.append(batch, now: Self.now)
        #expect(try table.forget(app: "*.secret", user: nil) == 1)
        for name in ["history.db", "history.db-wal"] {
            let text = String(decoding: try readFile("\(folder.path)/\(name)"), as: UTF8.self)
            #expect(!text.contains("secret"), "\(name)")
        }
        #expect(try Self.instances(table) == [2])
    }

    // MARK: Paused instances

    private static func pause(
        _ app: String, of user: UInt32 = 1, until: Int64
    ) -> Control.PauseRecord {
        var pause = Control.PauseRecord(
            app: app, userId: user, instance: 7, pausedTimestampUSec: until - 10,
            untilTimestampUSec: until, byteCount: 1 << 40)
        (pause.preparationUSec, pause.processorUSec, pause.kind) = (5, 6, .known(.prewarmed))
        pause.depth = .known(.runtime)
        return pause
    }

    @Test func `keeps paused instances, by user, app and time`() throws {
        let folder = try TemporaryDirectory()
        let table = try LaunchTable(path: folder.path + "/history.db")
        var batch = Self.batch()
        batch.pauses = [
            Self.pause("a.b", until: Self.now - 100), Self.pause("c.d", of: 2, until: Self.now),
            Control.PauseRecord(
                app: "a.b", userId: 1, instance: 8, pausedTimestampUSec: Self.now,
                untilTimestampUSec: Self.now + 1, byteCount: 0),
        ]
        try table.append(batch, now: Self.now)
        let all = try table.pauses(.init(), user: nil).records
        #expect(all == batch.pauses.reversed())
        #expect(try table.pauses(.init(), user: 2).records == [batch.pauses[1]])
        var query = Control.HistoryQuery()
        query.apps = ["c.*"]
        #expect(try table.pauses(query, user: nil).records == [batch.pauses[1]])
        // The instance was paused in the queried time, and its pause began before and ended after
        // it.
        query = .init()
        (query.sinceTimestampUSec, query.untilTimestampUSec) = (Self.now - 105, Self.now - 104)
        #expect(try table.pauses(query, user: nil).records == [batch.pauses[0]])
        query = .init()
        query.limit = 2
        let page = try table.pauses(query, user: nil)
        query.before = page.next
        #expect(page.records.count == 2)
        #expect(try table.pauses(query, user: nil) == .init([batch.pauses[0]]))
    }

    @Test func `forgets paused instances with launches, and old ones, and those beyond the limit`()
        throws
    {
        let folder = try TemporaryDirectory()
        let table = try LaunchTable(path: folder.path + "/history.db")
        var batch = Self.batch()
        batch.launchesPerUser = 2
        let month = 30 * 86_400_000_000 as Int64
        batch.pauses = [Self.pause("old", until: Self.now - month - 1)]
        batch.pauses += (0..<3).map { Self.pause("a.b", until: Self.now + $0) }
        try table.append(batch, now: Self.now)
        let kept = try table.pauses(.init(), user: nil).records
        #expect(kept.map(\.untilTimestampUSec) == [Self.now + 2, Self.now + 1])
        _ = try table.forget(app: "a.*", user: 2)
        #expect(try table.pauses(.init(), user: nil).records.count == 2)
        _ = try table.forget(app: "a.*", user: 1)
        #expect(try table.pauses(.init(), user: nil).records.isEmpty)
    }

    @Test func `of the second version is read, and has no depths`() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/history.db"
        var batch = Self.batch()
        batch.pauses = [Self.pause("a.b", until: Self.now)]
        do {
            let table = try LaunchTable(path: file)
            try table.append(batch, now: Self.now)
            try table.database.execute("ALTER TABLE pauses DROP COLUMN depth")
            try table.database.execute("PRAGMA user_version = 2")
        }
        let table = try LaunchTable(path: file)
        var pause = batch.pauses[0]
        pause.depth = nil
        #expect(try table.pauses(.init(), user: nil).records == [pause])
        try table.append(batch, now: Self.now)
        #expect(try table.pauses(.init(), user: nil).records.first == batch.pauses[0])
    }

    @Test func `of the first version is read, and gets what it lacks`() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/history.db"
        do {
            let table = try LaunchTable(path: file)
            try table.append(Self.batch(1), now: Self.now)
            try table.database.execute("DROP TABLE pauses")
            try table.database.execute("PRAGMA user_version = 1")
        }
        let table = try LaunchTable(path: file)
        #expect(try Self.instances(table) == [1])
        var batch = Self.batch(2)
        batch.pauses = [Self.pause("a.b", until: Self.now)]
        try table.append(batch, now: Self.now)
        #expect(try table.pauses(.init(), user: nil).records == batch.pauses)
    }
}
