/// What was counted for an app in a span of time, in MetricKit's categories (MXMetricPayload). It
/// is sent to the app as fields, and the daemon keeps it as lines of the same form.
public struct MetricReport: Hashable, Sendable {
    /// The span from the first count to the last; microseconds since 1970 UTC.
    public var begin: Int64
    public var end: Int64
    /// Times from the user's request to the point that the metric names.
    public var launches: [LaunchMetric: MetricHistogram] = [:]
    /// Times for which the main thread did not answer.
    public var hangs = MetricHistogram()
    public var foregroundExits: [MetricExit: UInt64] = [:]
    public var backgroundExits: [MetricExit: UInt64] = [:]
    /// In microseconds.
    public var foregroundTime: UInt64 = 0
    public var backgroundTime: UInt64 = 0
    /// In bytes; 0 if it was not measured.
    public var peakMemory: UInt64 = 0
    /// The sum of all measurements in bytes, and their number.
    public var suspendedMemory: UInt64 = 0
    public var suspensions: UInt64 = 0
    /// Launches from the pool.
    public var savings: [MetricDepth: SavedTime] = [:]

    public init(begin: Int64, end: Int64) {
        self.begin = begin
        self.end = end
    }

    /// Whether nothing was counted.
    public var isEmpty: Bool { self == MetricReport(begin: begin, end: end) }
}

/// How far a launched process had been prepared (`PrewarmDepth` of the core).
public enum MetricDepth: String, CaseIterable, Sendable {
    case main, runtime, libraries, window
}

/// What launches from the pool saved: the time that it takes to prepare an instance.
public struct SavedTime: Hashable, Sendable {
    public var launches: UInt64 = 0
    /// In microseconds.
    public var time: UInt64 = 0

    public init() {}
}

/// MXAppLaunchMetric.
public enum LaunchMetric: String, CaseIterable, Sendable {
    /// The time to the first draw of a cold launch.
    case firstDraw = "first-draw"
    /// The time to the first draw of a launch of a prewarmed process.
    case optimizedFirstDraw = "optimized-first-draw"
    /// The time to the foreground, for an app in the background or suspended.
    case resume
    /// The time to the end of work that the app has declared as part of its launch.
    case extendedLaunch = "extended-launch"
}

/// MXForegroundExitData, MXBackgroundExitData.
public enum MetricExit: String, CaseIterable, Sendable {
    /// The app ended by itself with status 0, or because it was asked to.
    case normal
    /// The app reached its own limit of memory.
    case memoryLimit = "memory-limit"
    /// The app was ended to free memory for others.
    case memoryPressure = "memory-pressure"
    /// SIGSEGV or SIGBUS.
    case badAccess = "bad-access"
    /// SIGILL or SIGTRAP.
    case illegalInstruction = "illegal-instruction"
    /// Any other signal, or a status other than 0.
    case abnormal
    case watchdog
    case cpuLimit = "cpu-limit"
    case suspendedWithLockedFile = "suspended-with-locked-file"
    case backgroundTaskTimeout = "background-task-timeout"
}

/// How many measured times are in each range of times. The buckets are the same everywhere.
public struct MetricHistogram: Hashable, Sendable {
    /// The beginning of each bucket, in milliseconds. The last bucket has no end.
    public static let bounds: [UInt32] = [
        0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 250, 300, 400, 500, 700, 1000,
        1500,
        2000, 3000, 5000, 7000, 10_000, 20_000, 60_000,
    ]

    /// The counts by the index of the bucket. Empty buckets are left out.
    public private(set) var counts: [UInt8: UInt64] = [:]

    public init() {}

    public var total: UInt64 { counts.values.reduce(0, &+) }

    public static func bucket(of microseconds: Int64) -> UInt8 {
        let milliseconds = UInt32(clamping: microseconds / 1000)
        return UInt8(bounds.lastIndex { $0 <= milliseconds } ?? 0)
    }

    public mutating func add(microseconds: Int64) {
        add(1, to: Self.bucket(of: microseconds))
    }

    public mutating func add(_ count: UInt64, to bucket: UInt8) {
        guard count > 0, bucket < Self.bounds.count else { return }
        counts[bucket, default: 0] &+= count
    }

    /// Removes one count from a bucket.
    public mutating func remove(from bucket: UInt8) {
        guard let count = counts[bucket] else { return }
        counts[bucket] = count > 1 ? count - 1 : nil
    }

    /// The buckets in order, in milliseconds. The last has no end.
    public var buckets: [(start: UInt32, end: UInt32?, count: UInt64)] {
        counts.sorted { $0.key < $1.key }.map { bucket, count in
            let next = Int(bucket) + 1
            let end = next < Self.bounds.count ? Self.bounds[next] : nil
            return (Self.bounds[Int(bucket)], end, count)
        }
    }
}

extension MetricReport {
    /// The counts that consist of a single number, with the names of their lines.
    static var numbers: [(name: String, count: WritableKeyPath<MetricReport, UInt64>)] {
        [
            ("time.foreground", \.foregroundTime), ("time.background", \.backgroundTime),
            ("memory.peak", \.peakMemory), ("memory.suspended", \.suspendedMemory),
            ("memory.suspensions", \.suspensions),
        ]
    }

    /// A line, or field, for each count that is not 0: `launch.resume.200=3`.
    public var lines: [(name: String, value: String)] {
        var lines: [(String, String)] = []
        for metric in LaunchMetric.allCases {
            guard let histogram = launches[metric] else { continue }
            for bucket in histogram.buckets {
                lines.append(("launch.\(metric.rawValue).\(bucket.start)", "\(bucket.count)"))
            }
        }
        for bucket in hangs.buckets { lines.append(("hang.\(bucket.start)", "\(bucket.count)")) }
        for exit in MetricExit.allCases {
            for (place, counts) in [
                ("foreground", foregroundExits), ("background", backgroundExits),
            ] {
                guard let count = counts[exit], count > 0 else { continue }
                lines.append(("exit.\(place).\(exit.rawValue)", "\(count)"))
            }
        }
        for depth in MetricDepth.allCases {
            guard let saved = savings[depth] else { continue }
            lines.append(("saved.\(depth.rawValue).launches", "\(saved.launches)"))
            lines.append(("saved.\(depth.rawValue).time", "\(saved.time)"))
        }
        for number in Self.numbers where self[keyPath: number.count] > 0 {
            lines.append((number.name, "\(self[keyPath: number.count])"))
        }
        return lines
    }

    /// Reads one line. Ignores unknown lines, counts of 0, and numbers that are impossibly high and
    /// could overflow later.
    public mutating func take(_ name: some StringProtocol, _ value: some StringProtocol) {
        let words = name.split(separator: ".")
        guard words.count > 1, let count = UInt64(value), count <= Int64.max / 2 else { return }
        switch (words[0], words.count) {
        case ("launch", 3) where count > 0:
            guard let metric = LaunchMetric(rawValue: String(words[1])),
                let bucket = Self.bucket(words[2])
            else { return }
            launches[metric, default: .init()].add(count, to: bucket)
        case ("hang", 2) where count > 0:
            if let bucket = Self.bucket(words[1]) { hangs.add(count, to: bucket) }
        case ("exit", 3) where count > 0:
            guard let exit = MetricExit(rawValue: String(words[2])) else { return }
            if words[1] == "foreground" { foregroundExits[exit] = count }
            if words[1] == "background" { backgroundExits[exit] = count }
        case ("saved", 3):
            guard let depth = MetricDepth(rawValue: String(words[1])) else { return }
            if words[2] == "launches" { savings[depth, default: .init()].launches = count }
            if words[2] == "time" { savings[depth, default: .init()].time = count }
        case _:
            if let number = Self.numbers.first(where: { $0.name == name }) {
                self[keyPath: number.count] = count
            }
        }
    }

    private static func bucket(_ start: some StringProtocol) -> UInt8? {
        UInt32(start).flatMap { MetricHistogram.bounds.firstIndex(of: $0) }.map { UInt8($0) }
    }
}
