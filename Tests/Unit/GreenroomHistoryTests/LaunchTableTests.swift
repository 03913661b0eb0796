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
        try table.page(Control.HistoryQuery(), user: nil).launches.map(\.instance)
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
}
