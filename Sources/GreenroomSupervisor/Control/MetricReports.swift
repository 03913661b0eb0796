internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

extension Control.MetricsReply {
    /// What has been counted for the app until now.
    @LoopActor
    init(of app: AppIdentifier, _ metrics: Metrics) {
        let book = metrics.settled(app) ?? AppMetrics(now: WallClock.nowMicroseconds)
        self.init(
            app: app.rawValue, total: Control.AppMetrics(book.total),
            current: Control.AppMetrics(book.current))
        undeliveredCount = UInt64(book.pending.count)
        diagnostics = book.diagnostics.map(Control.Diagnostic.init)
    }
}

extension Control.AppMetrics {
    init(_ report: MetricReport) {
        self.init(sinceTimestampUSec: report.begin)
        launches = LaunchMetric.allCases.compactMap { metric in
            guard let histogram = report.launches[metric], histogram.total > 0 else { return nil }
            return .init(metric: .init(metric), buckets: Self.buckets(histogram))
        }
        hangs = Self.buckets(report.hangs)
        exits = MetricExit.allCases.compactMap { exit in
            let foreground = report.foregroundExits[exit] ?? 0
            let background = report.backgroundExits[exit] ?? 0
            guard foreground + background > 0 else { return nil }
            return .init(exit: .init(exit), foreground: foreground, background: background)
        }
        savings = MetricDepth.allCases.compactMap { depth in
            report.savings[depth].map {
                .init(
                    depth: .init(depth), launchCount: $0.launches,
                    savedUSec: Int64(clamping: $0.time))
            }
        }
        foregroundUSec = Int64(clamping: report.foregroundTime)
        backgroundUSec = Int64(clamping: report.backgroundTime)
        peakByteCount = report.peakMemory > 0 ? report.peakMemory : nil
        averageSuspendedByteCount =
            report.suspensions > 0 ? report.suspendedMemory / report.suspensions : nil
    }

    private static func buckets(_ histogram: MetricHistogram) -> [Control.HistogramBucket] {
        histogram.buckets.map {
            .init(
                fromUSec: Int64($0.start) * 1000, toUSec: $0.end.map { Int64($0) * 1000 },
                count: $0.count)
        }
    }
}

extension Control.Diagnostic {
    init(_ report: DiagnosticReport) {
        self.init(
            kind: .init(report.kind), timestampUSec: report.time,
            wasInForeground: report.wasInForeground, reason: report.reason)
        signal = report.signal
        durationUSec = report.duration
    }
}

extension Control.DiagnosticKind {
    init(_ kind: DiagnosticReport.Kind) {
        switch kind {
        case .crash: self = .crash
        case .hang: self = .hang
        case .launch: self = .launch
        }
    }
}

extension Control.PrewarmDepth {
    fileprivate init(_ depth: MetricDepth) {
        switch depth {
        case .main: self = .main
        case .runtime: self = .runtime
        case .libraries: self = .libraries
        case .window: self = .window
        }
    }
}

extension Control.LaunchMetric {
    init(_ metric: LaunchMetric) {
        switch metric {
        case .firstDraw: self = .firstDraw
        case .optimizedFirstDraw: self = .optimizedFirstDraw
        case .resume: self = .resume
        case .extendedLaunch: self = .extendedLaunch
        }
    }
}

extension Control.MetricExit {
    init(_ exit: MetricExit) {
        switch exit {
        case .normal: self = .normal
        case .memoryLimit: self = .memoryLimit
        case .memoryPressure: self = .memoryPressure
        case .badAccess: self = .badAccess
        case .illegalInstruction: self = .illegalInstruction
        case .abnormal: self = .abnormal
        case .watchdog: self = .watchdog
        case .cpuLimit: self = .cpuLimit
        case .suspendedWithLockedFile: self = .suspendedWithLockedFile
        case .backgroundTaskTimeout: self = .backgroundTaskTimeout
        }
    }
}
