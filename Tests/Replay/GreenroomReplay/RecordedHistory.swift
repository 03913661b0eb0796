import Glibc
import GreenroomControl
import GreenroomPrediction
import Varlink

/// A recorded history, in one of two forms. Empty lines, and lines that begin with #, count for
/// nothing.
///
/// Text has one launch a line, in the order of time:
///
///     SECONDS USER APP SAVED_MS BYTES
///
/// Seconds since 1970 in local time, with or without a fraction; the user's number; the app's
/// identifier; what a launch from the pool saves, in milliseconds; the bytes of a paused instance.
///
/// JSON has what `greenroomctl history --json` prints: one launch a line. As in the product's own
/// plans, only those count that a user asked for and that started a process of that user's apps. If
/// there is also a line of `greenroomctl plan --json`, it has the time that each app saves, its
/// bytes and the budget. Otherwise, what the product assumes before it has measured anything counts
/// for each app.
public struct RecordedHistory {
    public private(set) var launches: [Launch] = []
    /// The budget of the plan; nil if the history has none.
    public private(set) var byteBudget: UInt64?
    /// Apps without a measured cost, each once.
    public private(set) var assumed: Set<String> = []

    /// The costs that `LaunchTable` and `Policy` assume.
    static let assumedMilliseconds = 50.0
    static let assumedByteCount: UInt64 = 16 << 20

    public struct Fault: Error, CustomStringConvertible {
        public var line: Int
        public var words: String
        public var description: String { "line \(line): \(words)" }
    }

    /// - Parameter secondsEast: the offset of local time from UTC at a time in seconds since 1970.
    public init(
        _ text: String, secondsEast: (Int64) -> Int64 = Self.secondsEast
    ) throws(Fault) {
        var (costs, records): ([Key: Cost], [Control.LaunchRecord]) = ([:], [])
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do {
                guard first.hasPrefix("{") else {
                    try add(words)
                    continue
                }
                switch try JSONValue(parsing: String(line)) {
                case .object(let object) where object["apps"] != nil:
                    add(try Control.PlanReport(object), to: &costs)
                case .object(let object) where object["requestTimestampUSec"] != nil:
                    records.append(try Control.LaunchRecord(object))
                case _: throw Words("neither a launch nor a plan")
                }
            } catch {
                throw Fault(line: number, words: "\(error)")
            }
        }
        add(records, costs, secondsEast)
    }

    private struct Words: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private mutating func add(_ words: [String]) throws(Words) {
        guard words.count == 5, let seconds = Double(words[0]), let user = UInt32(words[1]),
            let saved = Double(words[3]), let bytes = UInt64(words[4])
        else { throw Words("not SECONDS USER APP SAVED_MS BYTES") }
        guard seconds.isFinite, abs(seconds) < 1e12, saved.isFinite, saved >= 0 else {
            throw Words("a number is out of range")
        }
        let time = LocalTime(seconds: Int64(seconds.rounded(.down)))
        if let last = launches.last, time < last.time {
            throw Words("it is earlier than the line before")
        }
        launches.append(
            Launch(
                time: time, user: user, app: words[2], savedMilliseconds: saved, byteCount: bytes))
    }

    // MARK: The product's JSON

    private mutating func add(_ plan: Control.PlanReport, to costs: inout [Key: Cost]) {
        byteBudget = plan.byteBudget
        for app in plan.apps {
            let saved = Double(max(0, app.savedUSec)) / 1000
            costs[Key(user: app.userId, app: app.app)] = Cost(
                savedMilliseconds: saved, byteCount: app.byteCount, cpuMilliseconds: saved)
        }
    }

    private mutating func add(
        _ records: [Control.LaunchRecord], _ costs: [Key: Cost], _ secondsEast: (Int64) -> Int64
    ) {
        // Sorted by their requests, because a launch that took long is recorded after a later one.
        let kept = records.filter(Self.startedByUser).enumerated().sorted {
            let (one, other) = ($0.element.requestTimestampUSec, $1.element.requestTimestampUSec)
            return (one, $0.offset) < (other, $1.offset)
        }
        for (_, record) in kept {
            let cost = costs[Key(user: record.userId, app: record.app)]
            if cost == nil { assumed.insert(record.app) }
            let seconds = record.requestTimestampUSec / 1_000_000
            launches.append(
                Launch(
                    time: LocalTime(seconds: seconds + secondsEast(seconds)), user: record.userId,
                    app: record.app,
                    savedMilliseconds: cost?.savedMilliseconds ?? Self.assumedMilliseconds,
                    byteCount: cost?.byteCount ?? Self.assumedByteCount))
        }
    }

    private static func startedByUser(_ record: Control.LaunchRecord) -> Bool {
        guard record.caller?.userId == record.userId else { return false }
        switch record.kind.known {
        case .cold, .prewarmed, .startedAnew: return true
        case .resume, .foreground, nil: return false
        }
    }

    /// As the machine's time zone has it (localtime_r).
    public static func secondsEast(at seconds: Int64) -> Int64 {
        var (time, parts) = (time_t(seconds), tm())
        localtime_r(&time, &parts)
        return Int64(parts.tm_gmtoff)
    }
}
