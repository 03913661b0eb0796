internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The process, `greenroom-bus --watch`, that watches the settings of one instance's desktop, and its
/// names on its session's message bus, as the app's user and with the instance's environment. It is
/// told names, and sends each report as a packet of words.
@LoopActor
final class BusWatch: InstancePart {
    /// What the process says about a name, or about a call of any of the names.
    enum Report: Equatable {
        case watched(String)
        case taken(String)
        case unwatchable(String)
        case question
        case launch
        /// A setting of the desktop or of the display has changed.
        case changed
        /// Settings have changed, among them the scale, the theme or the font of the display.
        case restyled
        /// Settings from this source are not reported for now.
        case unheard(Source)
        /// The process has ended, or says something else.
        case lost
    }

    /// What reports changed settings.
    enum Source: String {
        case bus, display

        var words: String {
            switch self {
            case .bus: "the session's message bus"
            case .display: "the display"
            }
        }
    }

    /// More names than any program has; thunar has three.
    static let nameLimit = 8
    /// In bytes: a word, a space and a name. A longer packet is cut off and says nothing.
    private static let reportLimit = 300
    /// At most this many reports are read in a row, so that a process that sends more does not
    /// delay everybody else.
    private static let drainLimit = 64
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: reportLimit, alignment: 16)

    private var socket: UnixSocket?
    private var source: EventSource?
    /// The process's end of the socket, until the process has its own copy.
    private(set) var other: UnixSocket?
    private(set) var wanted: [String] = []
    /// A process that ends again and again is started no more often than this: about as often as
    /// the instance is aired.
    private static let beginPause = Duration.seconds(50)
    private var lastBegun: UInt64?
    private var wasLost = false
    /// Has the process killed, and forgotten once it has ended.
    private var release: (() -> Void)?
    /// The sources whose loss was logged.
    var unheard: Set<Source> = []

    init() {}

    var isRunning: Bool { socket != nil }
    var mayBegin: Bool {
        lastBegun.map {
            MonotonicClock.nanoseconds - $0 > UInt64(Self.beginPause / .nanoseconds(1))
        } ?? true
    }

    /// Notes that the process was lost. Returns whether this is the first time.
    func noteLoss() -> Bool {
        defer { wasLost = true }
        return !wasLost
    }

    isolated deinit { end() }

    /// Calls back with each report until the watch ends.
    ///
    /// - Parameters:
    ///   - disposer: closes the socket: the app's user may send descriptors with a report.
    ///   - release: called at the end of the watch. The process would end by itself, but the app's
    ///     user may have stopped it.
    func begin(
        _ disposer: Disposer, release: @escaping () -> Void,
        _ heard: @escaping (Report) -> Void
    ) throws {
        lastBegun = MonotonicClock.nanoseconds
        self.release = release
        let (own, other) = try UnixSocket.pair(.seqpacket)
        let socket = UnixSocket(own.descriptor.given(to: disposer.stranger(.max), .queue))
        self.socket = socket
        self.other = other
        source = try LoopActor.io(socket.descriptor.rawValue, .readable) { [unowned self] _ in
            for report in read() { heard(report) }
        }
    }

    /// Has the name watched, too. Returns false if the process cannot be told.
    func watch(_ name: String) -> Bool {
        guard wanted.count < Self.nameLimit, let socket else { return false }
        wanted.append(name)
        let sent = try? socket.send(Array(name.utf8))
        return sent == name.utf8.count
    }

    /// The process has its own copy of its end. From now on, the socket ends with the process.
    func wasSpawned() { other = nil }

    /// Ends the watch, and with it the process.
    func end() {
        source = nil
        socket = nil
        other = nil
        release?()
        release = nil
    }

    private func read() -> [Report] {
        var all: [Report] = []
        for _ in 0..<Self.drainLimit {
            guard let socket else { break }
            let report: Report
            do throws(SystemError) {
                guard let (count, hasDescriptors) = unsafe try socket.peek(into: Self.buffer)
                else { break }
                guard count > 0, !hasDescriptors else { return all + [.lost] }
                let bytes = unsafe Array(Self.buffer.prefix(min(count, Self.buffer.count)))
                report = Report(bytes)
                try socket.discard()
            } catch { return all + [.lost] }
            // A program that is called a hundred times is thawed once.
            if all.last != report { all.append(report) }
        }
        return all
    }
}

extension BusWatch.Report {
    init(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
            .map { String(decoding: $0, as: UTF8.self) }
        self =
            switch (parts.first, parts.count) {
            case ("watched", 2): .watched(parts[1])
            case ("taken", 2): .taken(parts[1])
            case ("unwatchable", 2): .unwatchable(parts[1])
            case ("question", 1): .question
            case ("launch", 1): .launch
            case ("changed", 1): .changed
            case ("restyled", 1): .restyled
            case ("unheard", 2): BusWatch.Source(rawValue: parts[1]).map { .unheard($0) } ?? .lost
            case _: .lost
            }
    }
}
