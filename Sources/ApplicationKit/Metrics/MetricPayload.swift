internal import GreenroomAppChannel

/// What the daemon has measured of the app in one day; MetricKit's `MXMetricPayload`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxmetricpayload>
public struct MetricPayload: Hashable, Sendable {
    /// The beginning of the day: the time since 1970 UTC.
    public let timeStampBegin: Duration
    /// The end of the day: the time since 1970 UTC.
    public let timeStampEnd: Duration
    /// How long launches and returns to the foreground took.
    public let applicationLaunchMetrics: ApplicationLaunchMetric
    /// How often the app ended, and why.
    public let applicationExitMetrics: ApplicationExitMetric
    /// How long the app ran.
    public let applicationTimeMetrics: ApplicationRunTimeMetric
    /// How long the app kept the main thread.
    public let applicationResponsivenessMetrics: ApplicationResponsivenessMetric
    /// How much memory the app used.
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

    /// The payload as a JSON object that has a member for each of the daemon's counters, to be sent
    /// to a server: `{"launch.resume.200": 3, …}`; `MXMetricPayload.jsonRepresentation()`.
    public func jsonRepresentation() -> String {
        let times = [("begin", "\(report.begin)"), ("end", "\(report.end)")]
        let members = times + report.lines.map { ($0.name, $0.value) }
        return "{" + members.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
    }
}

/// How many measured times are in each range of times; MetricKit's `MXHistogram`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxhistogram>
public struct Histogram: Hashable, Sendable {
    /// The buckets whose count is not 0, shortest time first.
    public let buckets: [Bucket]
    /// The sum of the buckets' counts; `MXHistogram.totalBucketCount` counts buckets instead.
    public var totalCount: UInt64 { buckets.reduce(0) { $0 + $1.bucketCount } }

    /// The count for one range of times; MetricKit's `MXHistogramBucket`.
    ///
    /// Source: <https://developer.apple.com/documentation/metrickit/mxhistogrambucket>
    public struct Bucket: Hashable, Sendable {
        /// The shortest time in the bucket's range.
        public let bucketStart: Duration
        /// The end of the bucket's range; nil in the last bucket, whose range has no end.
        public let bucketEnd: Duration?
        /// How many times were in the range.
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

/// How long launches took, each measured from the user's request; MetricKit's `MXAppLaunchMetric`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxapplaunchmetric>
public struct ApplicationLaunchMetric: Hashable, Sendable {
    /// The time to the first draw in cold launches.
    public let histogrammedTimeToFirstDraw: Histogram
    /// The time to the first draw in launches of a prewarmed process.
    public let histogrammedOptimizedTimeToFirstDraw: Histogram
    /// The time that the app took to come to the foreground from the background or from suspension.
    public let histogrammedApplicationResumeTime: Histogram
    /// The time of launches that the app extended
    /// (``MetricManager/extendLaunchMeasurement(forTaskID:)``).
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

/// How often the app ended, and why; MetricKit's `MXAppExitMetric`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxappexitmetric>
public struct ApplicationExitMetric: Hashable, Sendable {
    /// Exits while the app was in the foreground.
    public let foregroundExitData: ExitData
    /// Exits while the app was in the background or suspended.
    public let backgroundExitData: ExitData
}

/// How often the app ended for each reason; MetricKit's `MXForegroundExitData` and
/// `MXBackgroundExitData`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxforegroundexitdata>
public struct ExitData: Hashable, Sendable {
    /// The app exited by itself or was ended in the ordinary course of things.
    public let cumulativeNormalAppExitCount: UInt64
    /// The app used more memory than its limit allows.
    public let cumulativeMemoryResourceLimitExitCount: UInt64
    /// The app was ended because the machine was short of memory.
    public let cumulativeMemoryPressureExitCount: UInt64
    /// The app accessed memory that it must not (`SIGSEGV`, `SIGBUS`).
    public let cumulativeBadAccessExitCount: UInt64
    /// The app ran an illegal instruction (`SIGILL`, `SIGTRAP`).
    public let cumulativeIllegalInstructionExitCount: UInt64
    /// The app crashed or failed in another way.
    public let cumulativeAbnormalExitCount: UInt64
    /// The app was ended because a callback or its launch took too long.
    public let cumulativeAppWatchdogExitCount: UInt64
    /// The app used more processor time than its limit allows.
    public let cumulativeCPUResourceLimitExitCount: UInt64
    /// The app was ended because it held a file lock when it was suspended.
    public let cumulativeSuspendedWithLockedFileExitCount: UInt64
    /// The app was ended because it did not end its background tasks in time.
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

/// How long the app ran; MetricKit's `MXAppRunTimeMetric`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxappruntimemetric>
public struct ApplicationRunTimeMetric: Hashable, Sendable {
    /// How long the app was in the foreground.
    public let cumulativeForegroundTime: Duration
    /// How long the app ran in the background, without the time for which it was suspended.
    public let cumulativeBackgroundTime: Duration
}

/// How long the app kept the main thread; MetricKit's `MXAppResponsivenessMetric`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxappresponsivenessmetric>
public struct ApplicationResponsivenessMetric: Hashable, Sendable {
    /// The durations of callbacks that took longer than ``Application/callbackTimeLimit``.
    public let histogrammedApplicationHangTime: Histogram
}

/// How many bytes of memory the app used, 0 if that was not measured; MetricKit's `MXMemoryMetric`.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxmemorymetric>
public struct MemoryMetric: Hashable, Sendable {
    /// The most bytes that were measured in the day.
    public let peakMemoryUsage: UInt64
    /// The average number of bytes that the app had when it was suspended.
    public let averageSuspendedMemory: UInt64
}
