import GreenroomPrediction

extension RuleName {
    public static var ablations: [RuleName] { Term.allCases.map { .without($0) } }
}

/// A table of outcomes: rules, and the sources of histories.
public struct Report: CustomStringConvertible, Sendable {
    public let names: [RuleName]
    public private(set) var sources: [String] = []
    public private(set) var outcomes: [String: [RuleName: Outcome]] = [:]

    public init(_ names: [RuleName]) { self.names = names }

    public mutating func add(_ replay: Replay, _ source: String) {
        if outcomes[source] == nil { sources.append(source) }
        for name in names {
            outcomes[source, default: [:]][name, default: Outcome()].add(replay.run(name))
        }
    }

    /// How much more the predictor saved than the best of these; 0.15 is 15 %.
    public func gain(_ source: String, over others: [RuleName]) -> Double {
        let best = others.compactMap { outcomes[source]![$0]?.savedMilliseconds }.max() ?? 0
        return outcomes[source]![.predictor]!.savedMilliseconds / max(best, 1e-9) - 1
    }

    public var description: String {
        var lines: [String] = []
        for source in sources {
            let launches = outcomes[source]![.predictor]!.launchCount
            lines.append(
                "\(source): \(launches) launches; predictor against the best baseline "
                    + "\(signed(gain(source, over: RuleName.baselines))), against the best by value "
                    + "\(signed(gain(source, over: RuleName.informed)))")
            lines.append(
                "  rule                 saved of savable   hits   waste   CPU s per s saved")
            for name in names { lines.append(row(name, outcomes[source]![name]!)) }
        }
        let gains = sources.map { gain($0, over: RuleName.baselines) }
        lines.append(
            "mean of gains over the best baseline \(signed(gains.reduce(0, +) / Double(max(1, gains.count)))),"
                + " least \(signed(gains.min() ?? 0))")
        return lines.joined(separator: "\n")
    }

    private func row(_ name: RuleName, _ outcome: Outcome) -> String {
        let share = outcome.savedMilliseconds / max(1e-9, outcome.savableMilliseconds)
        let cpu = outcome.cpuMilliseconds / max(1e-9, outcome.savedMilliseconds)
        return "  " + padded("\(name)", 21) + padded(percent(share), 19)
            + padded(percent(outcome.hitRate), 7) + padded(percent(outcome.wasteRate), 8)
            + hundredths(cpu)
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
    private func hundredths(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
    private func percent(_ share: Double) -> String { "\((share * 1000).rounded() / 10) %" }
    private func signed(_ gain: Double) -> String { (gain >= 0 ? "+" : "") + percent(gain) }
}
