/// The levels of syslog(3). A lower value is more urgent.
public enum LogLevel: Int32, Comparable, CaseIterable, Sendable {
    case emergency, alert, critical, error, warning, notice, info, debug

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    /// The name in a line on standard error; systemd's short names.
    public var name: String {
        switch self {
        case .emergency: "emergency"
        case .alert: "alert"
        case .critical: "critical"
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// The level with that name or number.
    public init?(name: String) {
        guard
            let level = Self.allCases.first(where: {
                $0.name == name || String($0.rawValue) == name
            })
        else { return nil }
        self = level
    }
}
