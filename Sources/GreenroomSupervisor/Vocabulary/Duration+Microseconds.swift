extension Duration {
    /// Whole microseconds, saturating.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : scaled + attoseconds / 1_000_000_000_000
    }
}

extension Duration {
    /// For people, in milliseconds.
    var milliseconds: String {
        let tenths = (microseconds + 50) / 100
        return tenths >= 100 ? "\(tenths / 10) ms" : "\(tenths / 10).\(tenths % 10) ms"
    }
}
