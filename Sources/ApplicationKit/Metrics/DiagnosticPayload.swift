internal import GreenroomAppChannel

/// One thing that went wrong; MetricKit's `MXDiagnosticPayload` with one of the diagnostics in it.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxdiagnosticpayload>
public struct DiagnosticPayload: Hashable, Sendable {
    /// When it happened: the time since 1970 UTC.
    public let timeStamp: Duration
    /// Whether the app was in the foreground.
    public let wasInForeground: Bool
    /// What went wrong.
    public let diagnostic: Diagnostic

    /// The kinds of things that go wrong.
    ///
    /// Source: <https://developer.apple.com/documentation/metrickit/mxdiagnostic>
    public enum Diagnostic: Hashable, Sendable {
        /// The app ended although neither it nor the system meant to end it (`MXCrashDiagnostic`).
        /// `reason` is a word of greenroom-protocol(7) such as `crashed` or `watchdog`, and
        /// `signal` a number of signal(7), or nil if no signal ended the app.
        case crash(reason: String, signal: Int32?)
        /// The callback kept the main thread for `duration` (`MXHangDiagnostic`).
        case hang(callback: String, duration: Duration)
        /// A launch took long (`MXAppLaunchDiagnostic`). `metric` names the launch metric.
        case launch(metric: String, duration: Duration)
    }

    init(_ report: DiagnosticReport) {
        timeStamp = .microseconds(report.time)
        wasInForeground = report.wasInForeground
        let duration = Duration.microseconds(report.duration ?? 0)
        diagnostic =
            switch report.kind {
            case .crash: .crash(reason: report.reason, signal: report.signal)
            case .hang: .hang(callback: report.reason, duration: duration)
            case .launch: .launch(metric: report.reason, duration: duration)
            }
    }
}
