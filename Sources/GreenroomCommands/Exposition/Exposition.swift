import ArgumentParser

/// The text formats in which monitoring systems read metrics.
enum ExpositionFormat: String, ExpressibleByArgument, CaseIterable {
    /// OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec).
    case openmetrics
    /// The older format of Prometheus, version 0.0.4, which node_exporter's textfile collector reads.
    case prometheus

    var mediaType: String {
        switch self {
        case .openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        }
    }
}

/// A text in such a format: one family after another, each with its samples.
struct Exposition {
    enum Kind: String {
        case counter, gauge, histogram
    }

    typealias Label = (name: String, value: String)

    let format: ExpositionFormat
    private var lines = ""
    private var family = ""
    private var kind = Kind.gauge

    init(_ format: ExpositionFormat) { self.format = format }

    /// Begins a family.
    ///
    /// - Parameter name: without the suffix of a counter's samples, and ending with the unit.
    mutating func begin(_ name: String, _ kind: Kind, unit: String? = nil, _ help: String) {
        (family, self.kind) = (name, kind)
        // The older format names a counter as its samples are named, and has no units.
        let type = format == .prometheus && kind == .counter ? name + "_total" : name
        lines += "# TYPE \(type) \(kind.rawValue)\n"
        if format == .openmetrics, let unit { lines += "# UNIT \(name) \(unit)\n" }
        lines += "# HELP \(type) \(help)\n"
    }

    /// Adds a sample of a counter or a gauge.
    mutating func add(_ labels: [Label], _ value: String) {
        sample(kind == .counter ? "_total" : "", labels, value)
    }

    /// Adds the samples of a histogram.
    ///
    /// - Parameter counts: how many values lie at or below each bound, in seconds; not summed up.
    mutating func add(_ labels: [Label], _ counts: [(bound: String, count: UInt64)]) {
        var sum: UInt64 = 0
        for (bound, count) in counts {
            sum &+= count
            sample("_bucket", labels + [("le", bound)], "\(sum)")
        }
    }

    var text: String { format == .openmetrics ? lines + "# EOF\n" : lines }

    private mutating func sample(_ suffix: String, _ labels: [Label], _ value: String) {
        let labels = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
        lines += family + suffix
        if !labels.isEmpty { lines += "{" + labels.joined(separator: ",") + "}" }
        lines += " \(value)\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }
}
