import Glibc
import GreenroomControl
import GreenroomLinux
import UnitFile
import Varlink

/// A connection to the daemon. Its calls block.
final class ControlClient {
    /// The size of one receive, into which most replies fit.
    private static let bufferByteCount = 16 << 10

    let path: String
    private let socket: UnixSocket
    private var connection = ClientConnection()
    /// The socket of the system's daemon, if that is asked about apps that this one does not have.
    private let secondPath: String?

    /// - Parameter secondPath: the daemon that is asked about apps that the first one does not have.
    init(path: String, second secondPath: String? = nil) throws(Failure) {
        self.path = path
        self.secondPath = secondPath
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path, .stream, nonblocking: false)
        } catch {
            throw .unreachable(path: path, error)
        }
    }

    /// The socket's descriptor, to wait for it together with others.
    var descriptor: CInt { socket.descriptor.rawValue }

    /// The process that listens: the daemon, or systemd if it has not started the daemon yet
    /// (SO_PEERCRED).
    var serverProcess: Int32? {
        do throws(SystemError) { return try socket.peerCredentials().pid } catch { return nil }
    }

    /// Whether the daemon's process numbers are valid here (pid_namespaces(7)). For a process in a
    /// container, a daemon outside has the number 0. A daemon in a container has a second number
    /// there.
    var sharesProcessNumbers: Bool {
        guard let process = serverProcess, process > 0 else { return false }
        // The process has ended or is hidden from this one, but it has a number here.
        guard let text = try? SmallFile.text(of: "/proc/\(process)/status"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("NSpid:") })
        else { return true }
        return line.split(whereSeparator: \.isWhitespace).count == 2
    }

    /// The user of the process that listens (SO_PEERCRED).
    var serverUser: UInt32? {
        do throws(SystemError) { return try socket.peerCredentials().user } catch { return nil }
    }

    /// Whether the daemon belongs to another user than root and this process's. Such a daemon could
    /// name any file.
    var belongsToAnother: Bool {
        serverUser.map { $0 != 0 && $0 != getuid() } ?? false
    }

    /// - Throws: `anothersDaemon`. A verb that changes files calls this before it asks which.
    func requireOwn() throws(Failure) {
        if belongsToAnother, let user = serverUser {
            throw .manifest(.anothersDaemon(socket: path, user: user))
        }
    }

    /// Whether a reply is due.
    var isWaiting: Bool { connection.isWaiting }

    /// A connection to the user's own daemon, or to the system's if there is none. The system's
    /// daemon is asked about apps that the user's own does not have.
    ///
    /// - Parameter option: the socket that the user has named; then no other daemon is asked.
    static func usual(option: String?, _ whose: DaemonOwner? = nil) throws(Failure) -> ControlClient
    {
        let path = SocketPath.find(option: option, whose)
        let isChosen = option != nil || whose != nil
        return try ControlClient(
            path: path, second: isChosen ? nil : SocketPath.second(after: path))
    }

    /// The connection to the system's daemon; nil if this is the only one, or if that one does not
    /// answer.
    private(set) lazy var system: ControlClient? = secondPath.flatMap {
        try? ControlClient(path: $0)
    }

    /// Makes a call and waits for its only reply.
    func call(_ call: ControlCall, descriptors: [CInt] = []) throws(Failure) -> ControlReply {
        try answer(to: call, descriptors: descriptors).reply
    }

    /// Makes a call and waits for its only reply, which may come from the system's daemon.
    func answer(
        to call: ControlCall, descriptors: [CInt] = []
    ) throws(Failure) -> (reply: ControlReply, from: ControlClient) {
        do throws(Failure) {
            try send(call, descriptors: descriptors)
            return (try reply(to: call), self)
        } catch {
            guard error.isOfMissingApp, let system else { throw error }
            do throws(Failure) {
                return try system.answer(to: call, descriptors: descriptors)
            } catch let second {
                // The system's daemon has no such app for this user, either.
                throw second.isOfMissingApp ? error : second
            }
        }
    }

    /// Makes a call and waits for its reply for at most `milliseconds`; nil if there is none by
    /// then.
    func call(_ call: ControlCall, milliseconds: CInt) throws(Failure) -> ControlReply? {
        try send(call)
        let end = MonotonicClock.nanoseconds + UInt64(milliseconds) * 1_000_000
        while true {
            if let reply = try bufferedReply(to: call) { return reply }
            let now = MonotonicClock.nanoseconds
            guard now < end else { return nil }
            if hasInput(milliseconds: CInt((end - now) / 1_000_000 + 1)) { try receive() }
        }
    }

    /// Waits for at most `milliseconds` for input or the end of the connection.
    func hasInput(milliseconds: CInt) -> Bool {
        (try? PollEntry.wait(for: descriptor, POLLIN, milliseconds: milliseconds)) == true
    }

    func send(_ call: ControlCall, descriptors: [CInt] = []) throws(Failure) {
        connection.call(
            call.method, call, wantsMore: call.wantsMore, descriptorCount: descriptors.count)
        do throws(SystemError) {
            while let sent = try sendNext(descriptors) { connection.sent(byteCount: sent) }
        } catch {
            // If the daemon closes the connection, it may have sent the reason, which is read like
            // a reply.
            if !error.isDisconnection { throw .system(error) }
        }
    }

    private func sendNext(_ descriptors: [CInt]) throws(SystemError) -> Int? {
        let sent: Int?? = try connection.withOutput { (span, count) throws(SystemError) in
            try unsafe span.withUnsafeBytes { (buffer) throws(SystemError) in
                unsafe try socket.send(buffer, descriptors: count > 0 ? descriptors : [])
            }
        }
        return sent ?? nil
    }

    /// Waits for the next reply to the oldest unanswered call.
    func reply(to call: ControlCall) throws(Failure) -> ControlReply {
        while true {
            if let reply = try bufferedReply(to: call) { return reply }
            try receive()
        }
    }

    /// The next reply, if it has been received.
    func bufferedReply(to call: ControlCall) throws(Failure) -> ControlReply? {
        guard let reply = connection.nextReply() else {
            if let violation = connection.violation { throw .unknown(violation.description) }
            return nil
        }
        let failure: Failure
        do throws(ServiceError) {
            guard let name = reply.error else {
                return try ControlReply(reply.parameters, to: call)
            }
            if let error = try ControlError(reply) {
                failure = .control(error)
            } else if let error = ServiceError(reply) {
                failure = .service(error)
            } else {
                failure = .unknown(name)
            }
        } catch {
            failure = .unknown("with an unusable reply (\(error))")
        }
        throw failure
    }

    /// Waits for bytes and reads them.
    func receive() throws(Failure) {
        do throws(SystemError) {
            var count = 0
            var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                Result { () throws(SystemError) in unsafe try socket.receive(into: bytes) }
            }
            count = try result.get()?.byteCount ?? 0
            guard count > 0 else { throw SystemError(code: ECONNRESET, call: "recvmsg") }
            connection.receive(buffer.span.extracting(..<count))
        } catch {
            throw error.isDisconnection ? .disconnected : .system(error)
        }
    }
}

extension SocketPath {
    /// The path that the option names, else that of the owner's daemon, if an owner is given.
    static func find(option: String?, _ whose: DaemonOwner?) -> String {
        guard option == nil, let whose else { return find(option: option) }
        switch whose {
        case .user:
            return (runtimeDirectory ?? "/run/user/\(getuid())")
                + "/greenroom/control"
        case .system: return system
        }
    }

    /// Whether the daemon at this socket is one of this user's own, whose log is in the user's
    /// journal. Root has no journal apart from the system's.
    static func isUsers(_ path: String) -> Bool {
        guard getuid() != 0 else { return false }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return path != system }
        return status.st_uid == getuid()
    }
}

extension ControlClient {
    /// The identifier of the app that `name` means. A name without a dot must be the last component
    /// of exactly one identifier (`ffmpeg` for `org.ffmpeg.ffmpeg`).
    func resolve(_ name: String) throws(Failure) -> String {
        if name.utf8.contains(UInt8(ascii: ".")) { return name }
        let apps = try identifiers()
        let matches = AppNames.identifiers(meantBy: name, among: apps)
        switch matches.count {
        case 1: return matches[0]
        case 0 where UInt64(name) != nil: throw .number(name)
        case 0:
            // The daemon says why such an app is not installed, or ends the app's remaining
            // instances.
            if let absent = absent(called: name) { return absent }
            throw .control(
                .noSuchApp(name, suggestion: Spelling.closest(to: name, among: apps)))
        case _: throw .ambiguous(name, matches)
        }
    }

    /// The apps that a name or a pattern (glob(7)) means.
    func apps(
        meantBy word: String, where isMeant: (Control.AppSummary) -> Bool
    ) throws(Failure) -> [String] {
        guard AppPattern.isPattern(word) else { return [try resolve(word)] }
        guard case .listed(let own) = try call(.list) else { return [] }
        return (own + systemsApps(besides: own)).filter { app in
            isMeant(app) && AppPattern.matches(word, app.identifier)
        }.map(\.identifier)
    }

    /// The app of this short name that was refused or masked, if there is one.
    private func absent(called name: String) -> String? {
        guard case .listed(let apps)? = try? call(.listAll) else { return nil }
        let absent = apps.filter { $0.refusal != nil }.map(\.identifier)
        let matches = absent.filter { $0 == name || $0.hasSuffix("." + name) }
        return matches.count == 1 ? matches[0] : nil
    }

    private func identifiers() throws(Failure) -> [String] {
        guard case .listed(let apps) = try call(.list) else { return [] }
        return (apps + systemsApps(besides: apps)).map(\.identifier)
    }

    /// The apps of the system's daemon that this user may see and that the user's own daemon lacks.
    func systemsApps(besides own: [Control.AppSummary]) -> [Control.AppSummary] {
        guard let system, case .listed(let apps)? = try? system.call(.list) else { return [] }
        return AppNames.systemsApps(apps, besides: own)
    }
}

/// Patterns of apps (glob(7)), which mean identifiers or the last part of them.
enum AppPattern {
    static func isPattern(_ word: String) -> Bool { word.contains { "*?[".contains($0) } }

    static func matches(_ pattern: String, _ identifier: String) -> Bool {
        let last = identifier.split(separator: ".").last.map(String.init) ?? ""
        return unsafe fnmatch(pattern, identifier, 0) == 0 || fnmatch(pattern, last, 0) == 0
    }
}
