/// One thing that went wrong (MXCrashDiagnostic, MXHangDiagnostic, MXAppLaunchDiagnostic).
public struct DiagnosticReport: Hashable, Sendable {
    public var kind: Kind
    /// Microseconds since 1970 UTC.
    public var time: Int64
    public var wasInForeground: Bool
    /// The reason of the end, as a word of the control interface (crash), the callback (hang), or
    /// the metric (launch).
    public var reason: String
    /// The signal that ended the app, for a crash.
    public var signal: Int32?
    /// The duration of a hang or a launch, in microseconds.
    public var duration: Int64?

    public enum Kind: String, CaseIterable, Sendable {
        /// The app ended although nobody meant to end it.
        case crash
        /// The main thread did not answer.
        case hang
        /// A launch took long.
        case launch
    }

    public init(
        _ kind: Kind, time: Int64, wasInForeground: Bool, reason: String, signal: Int32? = nil,
        duration: Int64? = nil
    ) {
        self.kind = kind
        self.time = time
        self.wasInForeground = wasInForeground
        self.reason = reason
        self.signal = signal
        self.duration = duration
    }
}

extension DiagnosticReport {
    /// The report as one line: kind, time, place, signal, duration, and the rest of the line as the
    /// reason.
    public var text: String {
        let place = wasInForeground ? "foreground" : "background"
        let numbers = "\(signal.map(String.init) ?? "-") \(duration.map(String.init) ?? "-")"
        return "\(kind.rawValue) \(time) \(place) \(numbers) \(reason)"
    }

    public init?(text: some StringProtocol) {
        let words = text.split(
            separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard words.count == 6, let kind = Kind(rawValue: String(words[0])),
            let time = Int64(words[1]), time >= 0
        else { return nil }
        self.init(
            kind, time: time, wasInForeground: words[2] == "foreground", reason: String(words[5]),
            signal: Int32(words[3]), duration: Int64(words[4]).map { max(0, $0) })
    }
}
