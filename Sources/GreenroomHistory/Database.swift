internal import CSQLite
internal import GreenroomLinux

/// Why SQLite refused a request (sqlite3_errmsg).
struct DatabaseError: Error, CustomStringConvertible {
    let code: Int32
    let description: String

    /// Whether the file is damaged, or is not an SQLite database.
    var isDamage: Bool {
        let primary = code & 0xff
        return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB
    }
}

/// An SQLite database in one file.
@safe final class Database {
    enum Value {
        case null
        case integer(Int64)
        case text(String)

        init(_ integer: (some BinaryInteger)?) {
            self = integer.map { .integer(Int64(clamping: $0)) } ?? .null
        }
        init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    }

    private let handle: OpaquePointer
    /// Another process may still be writing, for a daemon that has just ended.
    private static let patienceMilliseconds: Int32 = 5000
    /// A query is given up after five seconds. The clock is read whenever SQLite's virtual machine
    /// has executed this many instructions.
    private static let instructionsBetweenLooks: Int32 = 1_000_000
    private static let patienceNanoseconds: UInt64 = 5_000_000_000
    @safe private final class Limit {
        var end: UInt64 = 0
    }
    private let limit = Limit()

    /// Opens the file, and makes it if there is none (sqlite3_open_v2).
    init(path: String) throws(DatabaseError) {
        var raw: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
            | SQLITE_OPEN_NOMUTEX
        let result = unsafe sqlite3_open_v2(path, &raw, flags, nil)
        guard result == SQLITE_OK, let opened = unsafe raw else {
            let text = unsafe String(cString: sqlite3_errstr(result))
            _ = unsafe sqlite3_close(raw)
            throw DatabaseError(code: result, description: text)
        }
        unsafe handle = opened
        _ = unsafe sqlite3_busy_timeout(opened, Self.patienceMilliseconds)
        let limit = unsafe Unmanaged.passUnretained(limit).toOpaque()
        unsafe sqlite3_progress_handler(
            opened, Self.instructionsBetweenLooks,
            { limit in
                let limit = unsafe Unmanaged<Limit>.fromOpaque(limit!).takeUnretainedValue()
                return MonotonicClock.nanoseconds > limit.end ? 1 : 0
            }, limit)
    }

    deinit { _ = unsafe sqlite3_close_v2(handle) }

    /// Executes one statement, and calls `body` for each row of its result (sqlite3_prepare_v2,
    /// sqlite3_step).
    func execute(
        _ statement: String, _ values: [Value] = [], _ body: (Row) -> Void = { _ in }
    ) throws(DatabaseError) {
        limit.end = MonotonicClock.nanoseconds + Self.patienceNanoseconds
        var raw: OpaquePointer?
        guard unsafe sqlite3_prepare_v2(handle, statement, -1, &raw, nil) == SQLITE_OK else {
            throw error
        }
        defer { _ = unsafe sqlite3_finalize(raw) }
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            switch value {
            case .null: _ = unsafe sqlite3_bind_null(raw, position)
            case .integer(let integer): _ = unsafe sqlite3_bind_int64(raw, position, integer)
            case .text(let text):
                // SQLITE_TRANSIENT, which is -1 cast to a pointer in C, makes SQLite copy the text.
                let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
                _ = unsafe sqlite3_bind_text(
                    raw, position, text, Int32(text.utf8.count), copied)
            }
        }
        while true {
            switch unsafe sqlite3_step(raw) {
            case SQLITE_ROW: if let statement = unsafe raw { body(unsafe Row(statement)) }
            case SQLITE_DONE: return
            case _: throw error
            }
        }
    }

    /// Makes all changes of `body`, or none.
    func inTransaction(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        try execute("BEGIN IMMEDIATE")
        do throws(DatabaseError) {
            try body()
            try execute("COMMIT")
        } catch {
            // SQLite may already have undone everything by itself, for example because the disk is
            // full.
            _ = try? execute("ROLLBACK")
            throw error
        }
    }

    /// The number of rows that the latest statement has changed.
    var changeCount: Int { Int(unsafe sqlite3_changes(handle)) }

    private var error: DatabaseError {
        DatabaseError(
            code: unsafe sqlite3_extended_errcode(handle),
            description: unsafe String(cString: sqlite3_errmsg(handle)))
    }

    /// A row of a result; valid until the next one.
    @safe struct Row {
        private let statement: OpaquePointer

        @unsafe fileprivate init(_ statement: OpaquePointer) { unsafe self.statement = statement }

        func integer(_ column: Int32) -> Int64? {
            guard unsafe sqlite3_column_type(statement, column) == SQLITE_INTEGER else {
                return nil
            }
            return unsafe sqlite3_column_int64(statement, column)
        }

        func text(_ column: Int32) -> String? {
            guard let text = unsafe sqlite3_column_text(statement, column) else { return nil }
            return unsafe String(cString: text)
        }
    }
}
