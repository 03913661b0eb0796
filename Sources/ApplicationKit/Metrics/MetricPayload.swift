internal import GreenroomAppChannel

/// What was counted of the app in a day; `MXMetricPayload`. Points of time are since 1970 UTC.
public struct MetricPayload: Hashable, Sendable {
    public let timeStampBegin: Duration
    public let timeStampEnd: Duration
    public let applicationLaunchMetrics: ApplicationLaunchMetric
    public let applicationExitMetrics: ApplicationExitMetric
    public let applicationTimeMetrics: ApplicationRunTimeMetric
    public let applicationResponsivenessMetrics: ApplicationResponsivenessMetric
    public let memoryMetrics: MemoryMetric
    private let report: MetricReport

    init(_ report: MetricReport) {
        self.report = report
        timeStampBegin = .microseconds(report.begin)
        timeStampEnd = .microseconds(report.end)
        applicationLaunchMetrics = ApplicationLaunchMetric(report)
        applicationExitMetrics = ApplicationExitMetric(
            foregroundExitData: ExitData(report.foregroundExits),
            backgroundExitData: ExitData(report.backgroundExits))
        applicationTimeMetrics = ApplicationRunTimeMetric(
            cumulativeForegroundTime: .microseconds(Int64(clamping: report.foregroundTime)),
            cumulativeBackgroundTime: .microseconds(Int64(clamping: report.backgroundTime)))
        applicationResponsivenessMetrics = ApplicationResponsivenessMetric(
            histogrammedApplicationHangTime: Histogram(report.hangs))
        let suspensions = report.suspensions
        memoryMetrics = MemoryMetric(
            peakMemoryUsage: report.peakMemory,
            averageSuspendedMemory: suspensions > 0 ? report.suspendedMemory / suspensions : 0)
    }

    /// As an object of the lines that the daemon sent, for a server of yours: `{"launch.resume.200": 3, …}`.
    public func jsonRepresentation() -> String {
        let times = [("begin", "\(report.begin)"), ("end", "\(report.end)")]
        let members = times + report.lines.map { ($0.name, $0.value) }
        return "{" + members.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
    }
}

/// Counts by length of time; `MXHistogram`.
public struct Histogram: Hashable, Sendable {
    /// Buckets with a count, in order.
    public let buckets: [Bucket]
    public var totalCount: UInt64 { buckets.reduce(0) { $0 + $1.bucketCount } }

    /// `MXHistogramBucket`
    public struct Bucket: Hashable, Sendable {
        public let bucketStart: Duration
        /// Nil in the last, which has no end.
        public let bucketEnd: Duration?
        public let bucketCount: UInt64
    }

    init(_ histogram: MetricHistogram) {
        buckets = histogram.buckets.map {
            Bucket(
                bucketStart: .milliseconds($0.start), bucketEnd: $0.end.map { .milliseconds($0) },
                bucketCount: $0.count)
        }
    }
}

/// `MXAppLaunchMetric`: from the user's request.
public struct ApplicationLaunchMetric: Hashable, Sendable {
    /// Of cold launches.
    public let histogrammedTimeToFirstDraw: Histogram
    /// Of prewarmed ones.
    public let histogrammedOptimizedTimeToFirstDraw: Histogram
    /// From the background, or suspended, to the foreground.
    public let histogrammedApplicationResumeTime: Histogram
    /// Of launches with tasks of their own (``MetricManager/extendLaunchMeasurement(forTaskID:)``).
    public let histogrammedExtendedLaunch: Histogram

    init(_ report: MetricReport) {
        func histogram(_ metric: LaunchMetric) -> Histogram {
            Histogram(report.launches[metric] ?? MetricHistogram())
        }
        histogrammedTimeToFirstDraw = histogram(.firstDraw)
        histogrammedOptimizedTimeToFirstDraw = histogram(.optimizedFirstDraw)
        histogrammedApplicationResumeTime = histogram(.resume)
        histogrammedExtendedLaunch = histogram(.extendedLaunch)
    }
}

/// `MXAppExitMetric`
public struct ApplicationExitMetric: Hashable, Sendable {
    public let foregroundExitData: ExitData
    public let backgroundExitData: ExitData
}

/// `MXForegroundExitData` and `MXBackgroundExitData`.
public struct ExitData: Hashable, Sendable {
    public let cumulativeNormalAppExitCount: UInt64
    public let cumulativeMemoryResourceLimitExitCount: UInt64
    public let cumulativeMemoryPressureExitCount: UInt64
    public let cumulativeBadAccessExitCount: UInt64
    public let cumulativeIllegalInstructionExitCount: UInt64
    public let cumulativeAbnormalExitCount: UInt64
    public let cumulativeAppWatchdogExitCount: UInt64
    public let cumulativeCPUResourceLimitExitCount: UInt64
    public let cumulativeSuspendedWithLockedFileExitCount: UInt64
    public let cumulativeBackgroundTaskAssertionTimeoutExitCount: UInt64

    init(_ counts: [MetricExit: UInt64]) {
        func count(_ exit: MetricExit) -> UInt64 { counts[exit] ?? 0 }
        cumulativeNormalAppExitCount = count(.normal)
        cumulativeMemoryResourceLimitExitCount = count(.memoryLimit)
        cumulativeMemoryPressureExitCount = count(.memoryPressure)
        cumulativeBadAccessExitCount = count(.badAccess)
        cumulativeIllegalInstructionExitCount = count(.illegalInstruction)
        cumulativeAbnormalExitCount = count(.abnormal)
        cumulativeAppWatchdogExitCount = count(.watchdog)
        cumulativeCPUResourceLimitExitCount = count(.cpuLimit)
        cumulativeSuspendedWithLockedFileExitCount = count(.suspendedWithLockedFile)
        cumulativeBackgroundTaskAssertionTimeoutExitCount = count(.backgroundTaskTimeout)
    }
}

/// `MXAppRunTimeMetric`
public struct ApplicationRunTimeMetric: Hashable, Sendable {
    public let cumulativeForegroundTime: Duration
    /// Without the time for which it was suspended.
    public let cumulativeBackgroundTime: Duration
}

/// `MXAppResponsivenessMetric`
public struct ApplicationResponsivenessMetric: Hashable, Sendable {
    /// How long callbacks kept the main thread, where that was over ``Application/callbackTimeLimit``.
    public let histogrammedApplicationHangTime: Histogram
}

/// `MXMemoryMetric`; in bytes, 0 where nobody measured.
public struct MemoryMetric: Hashable, Sendable {
    public let peakMemoryUsage: UInt64
    public let averageSuspendedMemory: UInt64
}
