/// The numbers of the messages that only apps with an SDK exchange with the daemon. They come after
/// LAUNCH (daemon → app) or PAUSED, STARTED, PONG and ERROR (app → daemon), which every app knows.
///
/// | Number | Direction | Message | Cookie | Status | Strings (words) | Fields |
/// |---|---|---|---|---|---|---|
/// | 32 | to the app | ``AppEvent/launch(_:)`` | of the launch | ``AppLaunch/Reason`` | default interface, or empty | `requested`, ``AppContent`` |
/// | 33 | to the app | ``AppEvent/lifecycle(_:cookie:)`` | of the event | ``AppEvent/Lifecycle`` | | |
/// | 34 | to the app | ``AppEvent/connectScene(_:)`` | of the event | | session, role, configuration, delegate | ``AppContent``, `restored.`; flag 1: into the foreground |
/// | 35 | to the app | ``AppEvent/scene(_:session:cookie:)`` | of the event | ``AppEvent/SceneTransition`` | session | |
/// | 36 | to the app | ``AppEvent/discardScenes(_:cookie:)`` | of the event | | sessions | |
/// | 37 | to the app | ``AppEvent/deliver(_:session:cookie:)`` | of the event | | session, or none | ``AppContent`` |
/// | 38 | to the app | ``AppEvent/answer(request:_:)`` | of the app's request; 0: ask again | 0 or errno | reason | |
/// | 39 | to the app | ``AppEvent/credentials(cookie:)`` | of the event | | | |
/// | 40 | to the app | ``AppEvent/handleEvents(for:_:cookie:)`` | of the event | ``AppLaunch/Reason`` | | ``AppContent`` |
/// | 48 | to the app | ``AppEvent/restoreState(_:session:cookie:)`` | of the event | 0, or errno: it cannot be read | session or empty, app version, state version, µs since 1970, user | ``AppArchive`` |
/// | 56 | to the app | ``AppEvent/metrics(_:cookie:)`` | of the event | | | `payload=BEGIN END` before the lines of each ``MetricReport`` |
/// | 57 | to the app | ``AppEvent/diagnostics(_:cookie:)`` | of the event | | each ``DiagnosticReport`` | |
/// | 64 | to the daemon | ``AppReport/acknowledged(cookie:handled:)`` | of the event | 0, or 1: not handled | | |
/// | 65 | to the daemon | ``AppReport/launchStep(_:at:session:)`` | time | ``AppReport/LaunchStep`` | session, or none | |
/// | 66 | to the daemon | ``AppReport/callbackOverran(_:duration:)`` | nanoseconds | | callback | |
/// | 67 | to the daemon | ``AppReport/didDrawFirstFrame(at:session:)`` | time | | session, or none | |
/// | 68 | to the daemon | ``AppReport/requestScene(_:cookie:)`` | of the request | kind | session, or none | ``AppContent`` |
/// | 69 | to the daemon | ``AppReport/openURL(_:cookie:)`` | of the request | | URL | |
/// | 80 | to the daemon | ``AppReport/state(_:session:cookie:)`` | of the request, or 0: no answer | 0 save, 1 forget, 2 too large | session, or none | ``AppArchive``, or `size` |
/// | 81, 82 | to the daemon | the same: ``StateReport/extend``, ``StateReport/complete`` | as for 80 | | session, or none | |
/// | 51 | to the app | ``AppEvent/Background/time(until:)`` | time, all ones: no limit | | | |
/// | 52 | to the app | ``AppEvent/Background/timeExpires(at:)`` | time | | | |
/// | 53 | to the app | ``AppEvent/Background/run(_:)`` | of the run | ``TaskSubmission/Kind`` | identifier | `deadline` (a time) |
/// | 54 | to the app | ``AppEvent/Background/pendingRequests(_:request:)`` | of the app's request | | | for each `task`, `task.kind`, `task.earliest`, `task.power`, `task.network` |
/// | 55 | to the app | ``AppEvent/Background/expire(_:)`` | of the run | ``TaskSubmission/Kind`` | identifier | `deadline` |
/// | 83 | to the daemon | ``AppReport/Background/begin(identifier:name:)`` | of the task | | name, or none | |
/// | 84 | to the daemon | ``AppReport/Background/end(identifier:)`` | of the task | | | |
/// | 85 | to the daemon | ``AppReport/Background/submit(_:cookie:)`` | of the request | ``TaskSubmission/Kind`` | identifier | `earliest`; flag 1: external power, 2: network |
/// | 86 | to the daemon | ``AppReport/Background/query(_:cookie:)`` | of the request | 0 list, 1 cancel, 2 cancel all | identifiers to cancel | |
/// | 87 | to the daemon | ``AppReport/Background/completed(run:_:)`` | of the run | ``AppReport/Completion`` | | |
/// | 88 | to the daemon | ``AppReport/launchTask(_:isFinished:at:)`` | time | 0, or 1: finished | name of the task | |
/// | 89 | to the daemon | ``AppReport/subscribesToMetrics(_:)`` | | 1, or 0: no longer | | |
/// | 92 | to the daemon | ``AppReport/launchSteps(_:)`` | time of the request | | | `paused`, `step.N`, `drawn`: times |
/// | 58–63, 90, 91, 93–95 | | reserved: metrics 58/90, launch screens 59/91 | | | | |
///
/// After a restart of the daemon, each app gets an answer to request 0. It then sends unanswered
/// requests again, with the highest bit of the cookie set; the answers have the cookie without it.
/// The cookies of requests count up from 1. The app also reports its launch again (92), if it
/// remembers the launch.
///
/// Times are `CLOCK_MONOTONIC` in nanoseconds. Fields are `name=value`. Apps and the daemon are
/// built separately, so both sides ignore fields and flags that they do not know. An app answers a
/// message of an unknown type with ERROR(`ENOSYS`), and the daemon ignores it.
enum AppMessageType: UInt16, CaseIterable {
    case launch = 32
    case lifecycle = 33
    case connectScene = 34
    case scene = 35
    case discardScenes = 36
    case deliver = 37
    case answer = 38
    case credentials = 39
    case handleEvents = 40
    case restoreState = 48
    case backgroundTime = 51
    case backgroundTimeExpires = 52
    case runTask = 53
    case pendingTasks = 54
    case expireTask = 55
    case metrics = 56
    case diagnostics = 57

    case acknowledged = 64
    case launchStep = 65
    case callbackOverran = 66
    case didDrawFirstFrame = 67
    case requestScene = 68
    case openURL = 69
    case saveState = 80
    case extendRestoration = 81
    case completeRestoration = 82
    case beginBackgroundTask = 83
    case endBackgroundTask = 84
    case submitTask = 85
    case taskRequests = 86
    case completedTask = 87
    case launchTask = 88
    case subscribesToMetrics = 89
    case launchSteps = 92
}

/// A message of the table above in its raw form: the header's fields and the strings.
struct AppFrame: Equatable {
    var type: AppMessageType
    var flags: UInt32 = 0
    var status: Int32 = 0
    var cookie: UInt64 = 0
    /// The strings that are counted as arguments.
    var words: [String] = []
    /// The strings that are counted as environment.
    var fields = AppFields()
    var roles: [Int32] = []

    init(_ type: AppMessageType, cookie: UInt64 = 0, status: Int32 = 0, words: [String] = []) {
        self.type = type
        self.cookie = cookie
        self.status = status
        self.words = words
    }

    /// The word with that index, or nil if it is missing or empty.
    func word(_ index: Int) -> String? {
        words.count > index && !words[index].isEmpty ? words[index] : nil
    }
}

extension AppFrame {
    /// The highest number of strings in one message. The size of a datagram limits their number
    /// too.
    static let stringCountLimit = 4096

    init(_ header: Header, in datagram: RawSpan) throws(WireError) {
        guard let type = AppMessageType(rawValue: header.type) else {
            throw .unknownType(header.type)
        }
        guard header.umask == 0, header.threads == 0 else {
            throw .unusedFieldSet(type: header.type)
        }
        let byteCount = datagram.byteCount - WireFormat.headerByteCount
        guard byteCount == Int(header.stringByteCount) else {
            throw .wrongLength(announced: Int(header.stringByteCount), received: byteCount)
        }
        for role in header.roles where role != WireFormat.credentialsRole {
            throw .unknownRole(role)
        }
        guard header.roles.count < 2 else { throw .duplicateRole(WireFormat.credentialsRole) }
        let (wordCount, fieldCount) = (Int(header.argumentCount), Int(header.environmentCount))
        guard wordCount <= Self.stringCountLimit, fieldCount <= Self.stringCountLimit else {
            throw .malformedStrings
        }
        let bytes = unsafe datagram.withUnsafeBytes {
            unsafe Array($0[WireFormat.headerByteCount...])
        }
        guard bytes.isEmpty || bytes.last == 0 else { throw .malformedStrings }
        let strings = StringList(terminated: bytes, count: 0).strings
        guard strings.count == wordCount + fieldCount else { throw .malformedStrings }

        self.init(type)
        flags = header.flags
        status = header.status
        cookie = header.cookie
        words = Array(strings.prefix(wordCount))
        fields = AppFields(entries: Array(strings.dropFirst(wordCount)))
        roles = header.roles
    }

    func encoded() throws(WireError) -> [UInt8] {
        let strings = try StringList(words + fields.entries)
        guard strings.bytes.count <= WireFormat.inlineStringLimit else {
            throw .tooManyStringBytes(strings.bytes.count)
        }
        guard words.count <= Self.stringCountLimit, fields.entries.count <= Self.stringCountLimit
        else { throw .malformedStrings }
        let header = Header(
            type: type.rawValue, flags: flags, argumentCount: UInt32(words.count),
            environmentCount: UInt32(fields.entries.count),
            stringByteCount: UInt32(strings.bytes.count), descriptorCount: UInt32(roles.count),
            cookie: cookie, status: status, roles: roles)
        var datagram = header.datagram(reserving: strings.bytes.count)
        datagram.append(contentsOf: strings.bytes)
        return datagram
    }
}

/// Named strings, in order. A name may occur several times.
struct AppFields: Equatable {
    var entries: [String] = []

    mutating func add(_ name: String, _ value: String?) {
        if let value { entries.append("\(name)=\(value)") }
    }

    mutating func add(_ name: String, _ values: [String]) {
        for value in values { add(name, value) }
    }

    /// Adds values sorted by key, so that equal messages have equal bytes.
    mutating func add(_ prefix: String, _ values: [String: String]) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { add(prefix + key, value) }
    }

    /// The name and value of each entry, in order. Entries without `=` are left out.
    var pairs: Pairs { Pairs(entries: entries) }

    /// A sequence and not an array, because the runtime would have to make an array's metadata at
    /// an app's launch.
    struct Pairs: Sequence, IteratorProtocol {
        fileprivate let entries: [String]
        private var index = 0

        fileprivate init(entries: [String]) { self.entries = entries }

        mutating func next() -> (name: Substring, value: String)? {
            while index < entries.count {
                let entry = entries[index]
                index += 1
                guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
                return (entry[..<equals], String(entry[entry.utf8.index(after: equals)...]))
            }
            return nil
        }
    }
}
