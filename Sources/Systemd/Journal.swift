internal import CSystemd
import Glibc
import Synchronization

/// A daemon's log. If standard error leads to the journal, messages are sent to the journal with
/// fields; otherwise they are written as lines to standard error.
///
/// Any thread may log, not only the `LoopActor`'s.
public final class Journal: Sendable {
    /// One `write` of at most this many bytes is atomic, even to a full pipe
    /// (PIPE_BUF, pipe(7)). Longer lines are cut.
    static let lineByteLimit = 4096

    private let identifier: String
    private let fieldPrefix: String
    private let isStructured: Bool
    private let descriptor: CInt
    private let threshold: Atomic<Int32>
    private let lostLines = Atomic<Int>(0)

    /// - Parameters:
    ///   - identifier: SYSLOG_IDENTIFIER, and the first word of a line.
    ///   - fieldPrefix: the prefix of field names in the journal. `GREENROOM_` turns `app` into
    ///     `GREENROOM_APP`.
    ///   - level: less urgent messages are dropped.
    ///   - descriptor: where lines go; standard error, except in tests.
    public init(
        identifier: String, fieldPrefix: String, level: LogLevel = .info, descriptor: CInt = 2
    ) {
        self.identifier = identifier
        self.fieldPrefix = fieldPrefix
        self.descriptor = descriptor
        threshold = Atomic(level.rawValue)
        isStructured = Self.leadsToJournal(descriptor)
    }

    public var level: LogLevel {
        get { LogLevel(rawValue: threshold.load(ordering: .relaxed)) ?? .info }
        set { threshold.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Logs a message with its fields, in the order given. Never blocks on standard error: if a
    /// full pipe cannot take a line, the line is counted, and the next line says how many were
    /// lost.
    /// - Parameter identity: MESSAGE_ID=, which tells programs the kind of message.
    public func log(
        _ level: LogLevel, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:],
        as identity: @autoclosure () -> MessageIdentifier? = nil
    ) {
        guard level.rawValue <= threshold.load(ordering: .relaxed) else { return }
        let record = JournalRecord(
            identifier: identifier, level: level, message: message(), fields: Array(fields()),
            identity: identity())
        if isStructured, send(record.journalFields(prefix: fieldPrefix)) { return }
        writeLine(record.line)
    }

    /// Whether `JOURNAL_STREAM` ("device:inode", systemd.exec(5)) names this descriptor. A service
    /// whose output was redirected later still has the variable.
    static func leadsToJournal(_ descriptor: CInt) -> Bool {
        guard let value = unsafe getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        return unsafe String(cString: value) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends fields to the journal (sd_journal_sendv(3)). During the call, all their bytes are in
    /// one buffer.
    private func send(_ fields: [[UInt8]]) -> Bool {
        let joined = fields.flatMap { $0 }
        return unsafe joined.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var vectors: [iovec] = unsafe []
            var offset = 0
            for field in fields {
                unsafe vectors.append(
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: base + offset),
                        iov_len: field.count))
                offset += field.count
            }
            return unsafe sd_journal_sendv(vectors, CInt(vectors.count)) >= 0
        }
    }

    private func writeLine(_ line: String) {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else {
            lostLines.wrappingAdd(1, ordering: .relaxed)
            return
        }
        var text = line
        let lost = lostLines.exchange(0, ordering: .relaxed)
        if lost > 0 { text = "\(identifier): notice: \(lost) lines of this log were lost\n" + text }
        let bytes = JournalRecord.cut(text, to: Self.lineByteLimit)
        while unsafe write(descriptor, bytes, bytes.count) == -1 && errno == EINTR {}
    }
}
