public import Varlink

extension Control {
    /// What was counted for an app in a span of time, in MetricKit's categories. The interface
    /// description says what the words mean.
    public struct AppMetrics: Hashable, Sendable {
        /// CLOCK_REALTIME in microseconds.
        public var sinceTimestampUSec: Int64
        public var launches: [LaunchHistogram] = []
        public var hangs: [HistogramBucket] = []
        public var exits: [ExitCount] = []
        /// Launches from the pool; empty from older daemons.
        public var savings: [DepthSaving] = []
        public var foregroundUSec: Int64 = 0
        public var backgroundUSec: Int64 = 0
        /// In bytes; nil if it was not measured.
        public var peakByteCount: UInt64?
        public var averageSuspendedByteCount: UInt64?

        public init(sinceTimestampUSec: Int64) { self.sinceTimestampUSec = sinceTimestampUSec }
    }

    public struct HistogramBucket: Hashable, Sendable {
        public var fromUSec: Int64
        /// Nil in the last bucket, which has no end.
        public var toUSec: Int64?
        public var count: UInt64
        public init(fromUSec: Int64, toUSec: Int64?, count: UInt64) {
            self.fromUSec = fromUSec
            self.toUSec = toUSec
            self.count = count
        }
    }

    public struct LaunchHistogram: Hashable, Sendable {
        public var metric: Word<LaunchMetric>
        public var buckets: [HistogramBucket]
        public init(metric: LaunchMetric, buckets: [HistogramBucket]) {
            self.metric = .known(metric)
            self.buckets = buckets
        }
    }

    public struct ExitCount: Hashable, Sendable {
        public var exit: Word<MetricExit>
        public var foreground: UInt64
        public var background: UInt64
        public init(exit: MetricExit, foreground: UInt64, background: UInt64) {
            self.exit = .known(exit)
            self.foreground = foreground
            self.background = background
        }
    }

    /// What launches from the pool have saved, by the depth of their instances.
    public struct DepthSaving: Hashable, Sendable {
        public var depth: Word<PrewarmDepth>
        public var launchCount: UInt64
        /// The time that preparing their instances took.
        public var savedUSec: Int64
        public init(depth: PrewarmDepth, launchCount: UInt64, savedUSec: Int64) {
            self.depth = .known(depth)
            self.launchCount = launchCount
            self.savedUSec = savedUSec
        }
    }

    /// MXAppLaunchMetric.
    public enum LaunchMetric: String, CaseIterable, Sendable {
        case firstDraw = "first_draw"
        case optimizedFirstDraw = "optimized_first_draw"
        case resume
        case extendedLaunch = "extended_launch"
    }

    /// MXForegroundExitData, MXBackgroundExitData.
    public enum MetricExit: String, CaseIterable, Sendable {
        case normal
        case memoryLimit = "memory_limit"
        case memoryPressure = "memory_pressure"
        case badAccess = "bad_access"
        case illegalInstruction = "illegal_instruction"
        case abnormal
        case watchdog
        case cpuLimit = "cpu_limit"
        case suspendedWithLockedFile = "suspended_with_locked_file"
        case backgroundTaskTimeout = "background_task_timeout"
    }

    public enum DiagnosticKind: String, CaseIterable, Sendable {
        case crash
        case hang
        case launch
    }

    public struct Diagnostic: Hashable, Sendable {
        public var kind: Word<DiagnosticKind>
        /// CLOCK_REALTIME in microseconds.
        public var timestampUSec: Int64
        public var wasInForeground: Bool
        /// The reason of the end (crash), the callback (hang), or the metric (launch).
        public var reason: String
        public var signal: Int32?
        public var durationUSec: Int64?

        public init(
            kind: DiagnosticKind, timestampUSec: Int64, wasInForeground: Bool, reason: String
        ) {
            self.kind = .known(kind)
            self.timestampUSec = timestampUSec
            self.wasInForeground = wasInForeground
            self.reason = reason
        }
    }

    /// What `Metrics` returns.
    public struct MetricsReply: Hashable, Sendable {
        public var app: String
        /// What was counted since the first count.
        public var total: AppMetrics
        /// What was counted since the last payload was closed.
        public var current: AppMetrics
        /// How many payloads, and which diagnostics, the app has not received yet.
        public var undeliveredCount: UInt64 = 0
        public var diagnostics: [Diagnostic] = []

        public init(app: String, total: AppMetrics, current: AppMetrics) {
            self.app = app
            self.total = total
            self.current = current
        }
    }
}

extension Control.HistogramBucket: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("fromUSec", fromUSec)
        writer.member("toUSec", ifPresent: toUSec)
        writer.member("count", count)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(fromUSec: 0, toUSec: nil, count: 0)
        for member in object.members {
            switch member.name {
            case "fromUSec": fromUSec = try member.integer()
            case "toUSec": toUSec = try member.optionalInteger()
            case "count": count = try member.integer()
            case _: break
            }
        }
    }
}

extension Control.LaunchHistogram: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("metric", metric)
        writer.member("buckets", objects: buckets)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(metric: .firstDraw, buckets: [])
        for member in object.members {
            switch member.name {
            case "metric": metric = try member.word()
            case "buckets":
                buckets = try member.objects(Control.HistogramBucket.init)
            case _: break
            }
        }
    }
}

extension Control.ExitCount: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("exit", exit)
        writer.member("foreground", foreground)
        writer.member("background", background)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(exit: .normal, foreground: 0, background: 0)
        for member in object.members {
            switch member.name {
            case "exit": exit = try member.word()
            case "foreground": foreground = try member.integer()
            case "background": background = try member.integer()
            case _: break
            }
        }
    }
}

extension Control.DepthSaving: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("depth", depth)
        writer.member("launchCount", launchCount)
        writer.member("savedUSec", savedUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(depth: .main, launchCount: 0, savedUSec: 0)
        for member in object.members {
            switch member.name {
            case "depth": depth = try member.word()
            case "launchCount": launchCount = try member.integer()
            case "savedUSec": savedUSec = try member.integer()
            case _: break
            }
        }
    }
}

extension Control.AppMetrics: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("sinceTimestampUSec", sinceTimestampUSec)
        writer.member("launches", objects: launches)
        writer.member("hangs", objects: hangs)
        writer.member("exits", objects: exits)
        if !savings.isEmpty { writer.member("savings", objects: savings) }
        writer.member("foregroundUSec", foregroundUSec)
        writer.member("backgroundUSec", backgroundUSec)
        writer.member("peakByteCount", ifPresent: peakByteCount)
        writer.member("averageSuspendedByteCount", ifPresent: averageSuspendedByteCount)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(sinceTimestampUSec: 0)
        for member in object.members {
            switch member.name {
            case "sinceTimestampUSec": sinceTimestampUSec = try member.integer()
            case "launches":
                launches = try member.objects(Control.LaunchHistogram.init)
            case "hangs":
                hangs = try member.objects(Control.HistogramBucket.init)
            case "exits":
                exits = try member.objects(Control.ExitCount.init)
            case "savings":
                savings = try member.objects(Control.DepthSaving.init)
            case "foregroundUSec": foregroundUSec = try member.integer()
            case "backgroundUSec": backgroundUSec = try member.integer()
            case "peakByteCount": peakByteCount = try member.optionalInteger()
            case "averageSuspendedByteCount":
                averageSuspendedByteCount = try member.optionalInteger()
            case _: break
            }
        }
    }
}

extension Control.Diagnostic: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind)
        writer.member("timestampUSec", timestampUSec)
        writer.member("foreground", wasInForeground)
        writer.member("reason", reason)
        writer.member("signal", ifPresent: signal)
        writer.member("durationUSec", ifPresent: durationUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(kind: .crash, timestampUSec: 0, wasInForeground: false, reason: "")
        for member in object.members {
            switch member.name {
            case "kind": kind = try member.word()
            case "timestampUSec": timestampUSec = try member.integer()
            case "foreground": wasInForeground = try member.bool()
            case "reason": reason = try member.text()
            case "signal": signal = try member.optionalInteger()
            case "durationUSec": durationUSec = try member.optionalInteger()
            case _: break
            }
        }
    }
}

extension Control.MetricsReply: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("total", object: total)
        writer.member("current", object: current)
        writer.member("undeliveredCount", undeliveredCount)
        writer.member("diagnostics", objects: diagnostics)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        let none = Control.AppMetrics(sinceTimestampUSec: 0)
        self.init(app: "", total: none, current: none)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "total": total = try Control.AppMetrics(try member.object())
            case "current": current = try Control.AppMetrics(try member.object())
            case "undeliveredCount": undeliveredCount = try member.integer()
            case "diagnostics":
                diagnostics = try member.objects(Control.Diagnostic.init)
            case _: break
            }
        }
    }
}
