public import GreenroomPrediction

/// One launch of a recorded or generated history.
public struct Launch: Hashable, Sendable {
    public var time: LocalTime
    public var user: UInt32
    public var app: String
    /// What a launch from the pool saves.
    public var savedMilliseconds: Double
    /// The memory of a paused instance.
    public var byteCount: UInt64

    public init(
        time: LocalTime, user: UInt32, app: String, savedMilliseconds: Double, byteCount: UInt64
    ) {
        self.time = time
        self.user = user
        self.app = app
        self.savedMilliseconds = savedMilliseconds
        self.byteCount = byteCount
    }

    var key: Key { Key(user: user, app: app) }
    /// What a prewarm does is what the launch need not do any more.
    var cpuMilliseconds: Double { savedMilliseconds }
}

/// An app of a user.
struct Key: Hashable, Comparable, Sendable {
    var user: UInt32
    var app: String

    static func < (one: Self, other: Self) -> Bool {
        one.user != other.user ? one.user < other.user : one.app < other.app
    }
}

/// A history that was recorded as text, one launch a line, in the order of time:
///
///     SECONDS USER APP SAVED_MS BYTES
///
/// Seconds since 1970 in local time, with or without a fraction; the user's number; the app's
/// identifier; what a launch from the pool saves, in milliseconds; the bytes of a paused instance.
/// Empty lines, and lines that begin with #, count for nothing.
public struct RecordedHistory {
    public var launches: [Launch] = []

    public struct Fault: Error, CustomStringConvertible {
        public var line: Int
        public var words: String
        public var description: String { "line \(line): \(words)" }
    }

    public init(_ text: String) throws(Fault) {
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 5, let seconds = Double(first), let user = UInt32(words[1]),
                let saved = Double(words[3]), let bytes = UInt64(words[4])
            else { throw Fault(line: number, words: "not SECONDS USER APP SAVED_MS BYTES") }
            guard seconds.isFinite, abs(seconds) < 1e12, saved.isFinite, saved >= 0 else {
                throw Fault(line: number, words: "a number is out of range")
            }
            let time = LocalTime(seconds: Int64(seconds.rounded(.down)))
            if let last = launches.last, time < last.time {
                throw Fault(line: number, words: "it is earlier than the line before")
            }
            launches.append(
                Launch(
                    time: time, user: user, app: words[2], savedMilliseconds: saved,
                    byteCount: bytes))
        }
    }
}
