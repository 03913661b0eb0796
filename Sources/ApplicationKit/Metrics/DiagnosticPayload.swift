internal import GreenroomAppChannel

/// One thing that went wrong; `MXDiagnosticPayload` and the diagnostics in it.
public struct DiagnosticPayload: Hashable, Sendable {
    /// Since 1970 UTC.
    public let timeStamp: Duration
    public let wasInForeground: Bool
    public let diagnostic: Diagnostic

    public enum Diagnostic: Hashable, Sendable {
        /// It ended as nobody had meant it (`MXCrashDiagnostic`): `reason` is a word such as `crashed` or
        /// `watchdog` of greenroom-protocol(7), `signal` one of signal(7).
        case crash(reason: String, signal: Int32?)
        /// The callback kept the main thread that long (`MXHangDiagnostic`).
        case hang(callback: String, duration: Duration)
        /// A launch took long (`MXAppLaunchDiagnostic`), by the name of its metric.
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
