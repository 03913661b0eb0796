/// What is counted of an app in a time, in MetricKit's categories (MXMetricPayload). It travels to the app as
/// fields, and the daemon keeps it as lines of the same form.
public struct MetricReport: Hashable, Sendable {
    /// From its first count to its last; microseconds since 1970 UTC.
    public var begin: Int64
    public var end: Int64
    /// From the user's request to what the name says.
    public var launches: [LaunchMetric: MetricHistogram] = [:]
    /// The time for which the main thread did not answer.
    public var hangs = MetricHistogram()
    public var foregroundExits: [MetricExit: UInt64] = [:]
    public var backgroundExits: [MetricExit: UInt64] = [:]
    /// In microseconds.
    public var foregroundTime: UInt64 = 0
    public var backgroundTime: UInt64 = 0
    /// In bytes; 0 if it was not measured.
    public var peakMemory: UInt64 = 0
    /// Together, and how often it was measured.
    public var suspendedMemory: UInt64 = 0
    public var suspensions: UInt64 = 0

    public init(begin: Int64, end: Int64) {
        self.begin = begin
        self.end = end
    }

    /// Nothing but its times.
    public var isEmpty: Bool { self == MetricReport(begin: begin, end: end) }
}

/// MXAppLaunchMetric.
public enum LaunchMetric: String, CaseIterable, Sendable {
    /// A cold launch, to the first draw.
    case firstDraw = "first-draw"
    /// A prewarmed one.
    case optimizedFirstDraw = "optimized-first-draw"
    /// From the background, or suspended, to the foreground.
    case resume
    /// To the end of what the app declared as part of its launch.
    case extendedLaunch = "extended-launch"
}

/// MXForegroundExitData, MXBackgroundExitData.
public enum MetricExit: String, CaseIterable, Sendable {
    /// It ended by itself with status 0, or was asked to.
    case normal
    /// Its own limit of memory.
    case memoryLimit = "memory-limit"
    /// Memory was short, and it was ended for others.
    case memoryPressure = "memory-pressure"
    /// SIGSEGV, SIGBUS.
    case badAccess = "bad-access"
    /// SIGILL, SIGTRAP.
    case illegalInstruction = "illegal-instruction"
    /// Any other signal, and a status other than 0.
    case abnormal
    case watchdog
    case cpuLimit = "cpu-limit"
    case suspendedWithLockedFile = "suspended-with-locked-file"
    case backgroundTaskTimeout = "background-task-timeout"
}

/// Counts by length of time, in buckets that are the same everywhere.
public struct MetricHistogram: Hashable, Sendable {
    /// Where buckets begin, in milliseconds; the last has no end.
    public static let bounds: [UInt32] = [
        0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 250, 300, 400, 500, 700, 1000,
        1500,
        2000, 3000, 5000, 7000, 10_000, 20_000, 60_000,
    ]

    /// By the number of the bucket; empty ones are left out.
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

    /// Takes back what was counted there.
    public mutating func remove(from bucket: UInt8) {
        guard let count = counts[bucket] else { return }
        counts[bucket] = count > 1 ? count - 1 : nil
    }

    /// In order of their lengths, in milliseconds; the last bucket has no end.
    public var buckets: [(start: UInt32, end: UInt32?, count: UInt64)] {
        counts.sorted { $0.key < $1.key }.map { bucket, count in
            let next = Int(bucket) + 1
            let end = next < Self.bounds.count ? Self.bounds[next] : nil
            return (Self.bounds[Int(bucket)], end, count)
        }
    }
}

extension MetricReport {
    /// One line, or field, for each thing that is not nothing: `launch.resume.200=3`.
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
        let numbers = [
            ("time.foreground", foregroundTime), ("time.background", backgroundTime),
            ("memory.peak", peakMemory), ("memory.suspended", suspendedMemory),
            ("memory.suspensions", suspensions),
        ]
        return lines + numbers.filter { $0.1 > 0 }.map { ($0.0, String($0.1)) }
    }

    /// Takes one line; what it does not know it passes over. So it does with numbers that nothing comes
    /// to, and that could not be counted on.
    public mutating func take(_ name: some StringProtocol, _ value: some StringProtocol) {
        let words = name.split(separator: ".")
        guard words.count > 1, let count = UInt64(value), count <= Int64.max / 2 else { return }
        switch (words[0], words.count) {
        case ("launch", 3):
            guard let metric = LaunchMetric(rawValue: String(words[1])),
                let bucket = Self.bucket(words[2])
            else { return }
            launches[metric, default: .init()].add(count, to: bucket)
        case ("hang", 2): if let bucket = Self.bucket(words[1]) { hangs.add(count, to: bucket) }
        case ("exit", 3):
            guard let exit = MetricExit(rawValue: String(words[2])) else { return }
            if words[1] == "foreground" { foregroundExits[exit] = count }
            if words[1] == "background" { backgroundExits[exit] = count }
        case ("time", 2), ("memory", 2): takeNumber(String(words[0] + "." + words[1]), count)
        case _: break
        }
    }

    private static func bucket(_ start: some StringProtocol) -> UInt8? {
        UInt32(start).flatMap { MetricHistogram.bounds.firstIndex(of: $0) }.map { UInt8($0) }
    }

    private mutating func takeNumber(_ name: String, _ count: UInt64) {
        switch name {
        case "time.foreground": foregroundTime = count
        case "time.background": backgroundTime = count
        case "memory.peak": peakMemory = count
        case "memory.suspended": suspendedMemory = count
        case "memory.suspensions": suspensions = count
        case _: break
        }
    }
}
