internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Varlink

/// Keeps launches in a file for the daemon, and plans from them which apps are kept warm. The
/// daemon starts this program when it has something to ask, and closes the connection when it has
/// nothing more to ask. Then the program ends.
///
/// It is a separate process, because SQLite waits for the disk and reads a file that may be
/// damaged, and because a plan is computed from what users did. None of this may affect the daemon.
public struct HistoryService {
    private let path: String
    private let socket: UnixSocket
    private static let bufferByteCount = 64 << 10

    /// - Parameters:
    ///   - path: the file.
    ///   - descriptor: the connection to the daemon, which this takes over.
    public init(path: String, descriptor: Int32) {
        self.path = path
        // The daemon's end does not block; this one does.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        socket = UnixSocket(FileDescriptor(owning: descriptor))
    }

    /// Serves the daemon until it closes the connection.
    public func run() {
        // Launches come first. A system call filter may forbid this, which does no harm.
        _ = nice(10)
        // The mode that systemd gives the folder: apps pass through it to their own folders.
        if let slash = path.lastIndex(of: "/") { unsafe mkdir(String(path[..<slash]), 0o711) }
        umask(0o077)
        // A signal that tells the daemon to end may be sent to its whole process group.
        signal(SIGTERM, SIG_IGN)
        signal(SIGINT, SIG_IGN)
        var connection = ServerConnection()
        var table: LaunchTable?
        while connection.violation == nil {
            while let call = connection.nextCall() { answer(call, &connection, &table) }
            guard send(&connection), receive(&connection) else { return }
        }
    }

    private func answer(
        _ call: Call, _ connection: inout ServerConnection, _ table: inout LaunchTable?
    ) {
        do throws(ServiceError) {
            let call = try HistoryCall(call)
            do throws(HistoryError) {
                connection.reply(try perform(call, &table))
            } catch {
                connection.fail(error)
            }
        } catch {
            connection.fail(error)
        }
    }

    /// Performs the call. If the file turns out to be damaged, it is set aside, and the call is
    /// performed on a new file.
    private func perform(
        _ call: HistoryCall, _ table: inout LaunchTable?
    ) throws(HistoryError) -> HistoryReply {
        do throws(DatabaseError) {
            return try performOnce(call, &table)
        } catch {
            guard error.isDamage else { throw HistoryError(reason: "\(path): \(error)") }
            table = nil
            let aside = path + ".damaged"
            guard unsafe rename(path, aside) == 0 else {
                throw HistoryError(reason: "\(path): \(error)")
            }
            // The logs belong to the damaged file.
            for log in ["-wal", "-journal"] { unsafe unlink(path + log) }
            complain("\(path) is damaged (\(error)); it is kept as \(aside), and a new one begins")
        }
        do throws(DatabaseError) {
            return try performOnce(call, &table)
        } catch {
            throw HistoryError(reason: "\(path): \(error)")
        }
    }

    private func performOnce(
        _ call: HistoryCall, _ table: inout LaunchTable?
    ) throws(DatabaseError) -> HistoryReply {
        let opened = if let table { table } else { try LaunchTable(path: path) }
        table = opened
        switch call {
        case .append(let batch):
            try opened.append(batch, now: Self.now)
            return .done
        case .query(let query, let user): return .found(try opened.page(query, user: user))
        case .forget(let app, let user):
            return .forgotten(count: try opened.forget(app: app, user: user))
        case .plan(let request): return .planned(try opened.plan(request, now: Self.now))
        case .rank(let request, let app, let user):
            return .ranked(try opened.rank(request, app: app, user: user, now: Self.now))
        case .pauses(let query, let user):
            return .foundPauses(try opened.pauses(query, user: user))
        }
    }

    /// CLOCK_REALTIME in microseconds.
    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Writes a line to the journal, to which standard error leads.
    private func complain(_ text: String) {
        var line = "greenroom-history: " + text + "\n"
        line.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    // MARK: Moving bytes

    /// - Returns: false if the daemon is gone.
    private func send(_ connection: inout ServerConnection) -> Bool {
        while connection.hasOutput {
            let sent: Int? =
                connection.withOutput { span, _ in
                    unsafe span.withUnsafeBytes { bytes in
                        (unsafe try? socket.send(bytes)) ?? nil
                    }
                } ?? nil
            guard let sent else { return false }
            connection.sent(byteCount: sent)
        }
        return true
    }

    /// - Returns: false at the end of the connection.
    private func receive(_ connection: inout ServerConnection) -> Bool {
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            (unsafe try? socket.receive(into: bytes))??.byteCount ?? 0
        }
        guard count > 0 else { return false }
        connection.receive(buffer.span.extracting(..<count))
        return true
    }
}
