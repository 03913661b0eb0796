internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// Measures one launch, or one return to the foreground, for the histograms. The clock starts at
/// the user's request. If the app says when it has drawn, that is the end of the launch; until it
/// says so, its first activation counts as the end.
struct LaunchMeter {
    let metric: LaunchMetric
    let requestedAt: Instant
    private var drawnAt: Instant?
    private var isDrawn = false
    /// The bucket that the draw was counted in.
    private var bucket: UInt8?
    /// Tasks that the app declared as part of its launch and has not finished.
    private var tasks: Set<String> = []
    private var finishedAt: Instant?
    private var isExtended = false

    /// At most this many tasks at a time, the limit of MXMetricManager.
    private static let taskLimit = 16
    /// The longest name that the SDKs allow, in bytes. An app without an SDK could otherwise make
    /// the daemon keep long names.
    private static let taskNameByteLimit = 128

    typealias Count = (_ change: @escaping (inout MetricReport) -> Void) -> Void

    init(_ metric: LaunchMetric, requestedAt: Instant) {
        self.metric = metric
        self.requestedAt = requestedAt
    }

    /// - Parameter isSaid: whether the app itself said so; if it did, no later draw counts.
    /// - Returns: the length of the launch, when it becomes known for the first time.
    mutating func drew(
        at instant: Instant, isSaid: Bool, _ count: Count
    ) -> Duration? {
        guard !isDrawn, isSaid || drawnAt == nil else { return nil }
        let isFirst = drawnAt == nil
        isDrawn = isSaid
        drawnAt = instant
        let length = requestedAt.duration(to: instant)
        let former = bucket
        let next = MetricHistogram.bucket(of: length.microseconds)
        bucket = next
        count { [metric] report in
            if let former { report.launches[metric]?.remove(from: former) }
            report.launches[metric, default: .init()].add(1, to: next)
        }
        extend(count)
        return isFirst ? length : nil
    }

    mutating func begin(_ task: String) {
        guard metric != .resume, finishedAt == nil || !tasks.isEmpty || drawnAt == nil,
            tasks.count < Self.taskLimit, task.utf8.count <= Self.taskNameByteLimit
        else { return }
        tasks.insert(task)
    }

    mutating func finish(
        _ task: String, at instant: Instant, _ count: Count
    ) {
        guard tasks.remove(task) != nil else { return }
        finishedAt = instant
        extend(count)
    }

    /// The launch is over when the app has drawn and its last task is done.
    private mutating func extend(_ count: Count) {
        guard !isExtended, tasks.isEmpty, let drawnAt, let finishedAt else { return }
        isExtended = true
        let length = requestedAt.duration(to: max(drawnAt, finishedAt)).microseconds
        count { report in
            report.launches[.extendedLaunch, default: .init()].add(microseconds: length)
        }
    }
}

extension LaunchMetric {
    /// A launch of at least this length counts as slow (Android vitals: cold, warm and hot starts).
    var slowLimit: Duration {
        switch self {
        case .firstDraw, .extendedLaunch: .seconds(5)
        case .optimizedFirstDraw: .seconds(2)
        case .resume: .milliseconds(1500)
        }
    }
}
