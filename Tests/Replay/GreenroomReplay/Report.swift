/// A table of outcomes: rules, and the sources of histories.
public struct Report: CustomStringConvertible, Sendable {
    /// The bars: how much more than the best plain rule the predictor must save, on average over
    /// the generators and for each of them.
    public static let meanBar = 0.15
    public static let leastBar = -0.03

    public let names: [RuleName]
    public private(set) var sources: [String] = []
    public private(set) var outcomes: [String: [RuleName: Outcome]] = [:]
    /// The least gain over the best plain rule in a single history.
    public private(set) var leastGain = Double.infinity

    public init(_ names: [RuleName]) { self.names = names }

    public mutating func add(_ replay: Replay, _ source: String) {
        var outcomes: [RuleName: Outcome] = [:]
        for name in names { outcomes[name] = replay.run(name) }
        add(outcomes, source)
    }

    mutating func add(_ outcomes: [RuleName: Outcome], _ source: String) {
        if self.outcomes[source] == nil { sources.append(source) }
        leastGain = min(leastGain, Self.gain(in: outcomes, over: RuleName.plain))
        self.outcomes[source, default: [:]].merge(outcomes) { sum, more in
            var sum = sum
            sum.add(more)
            return sum
        }
    }

    // MARK: Gains

    /// How much more the predictor saved than the best of these rules; 0.15 is 15 %.
    public func gain(_ source: String, over others: [RuleName]) -> Double {
        Self.gain(in: outcomes[source]!, over: others)
    }

    private static func gain(
        in outcomes: [RuleName: Outcome], over others: [RuleName]
    ) -> Double {
        let best = others.compactMap { outcomes[$0]?.savedMilliseconds }.max() ?? 0
        let saved = outcomes[.predictor]!.savedMilliseconds
        guard best > 0 else { return saved > 0 ? .infinity : 0 }
        return saved / best - 1
    }

    public func meanGain(over others: [RuleName]) -> Double {
        Self.mean(sources.map { gain($0, over: others) })
    }

    /// How much more the predictor saved in all histories together than the best single rule of
    /// these.
    public func gainInAll(over others: [RuleName]) -> Double {
        var all: [RuleName: Outcome] = [:]
        for outcomes in outcomes.values {
            for (name, outcome) in outcomes { all[name, default: Outcome()].add(outcome) }
        }
        return Self.gain(in: all, over: others)
    }

    /// The gains that are below the bars. There should be none.
    public var shortfalls: [String] {
        var shortfalls: [String] = []
        let mean = meanGain(over: RuleName.plain)
        if !(mean >= Self.meanBar) {
            shortfalls.append(
                "the mean of gains is \(signed(mean)), and should be \(signed(Self.meanBar))")
        }
        for source in sources {
            let gain = gain(source, over: RuleName.plain)
            if !(gain >= Self.leastBar) {
                shortfalls.append(
                    "\(source) gains \(signed(gain)), and should gain \(signed(Self.leastBar))")
            }
        }
        return shortfalls
    }

    // MARK: Text

    public var description: String {
        var lines: [String] = []
        for source in sources {
            let launches = outcomes[source]![.predictor]!.launchCount
            lines.append(
                "\(source): \(launches) launches; predictor against the best plain rule "
                    + "\(signed(gain(source, over: RuleName.plain))), against the best of four "
                    + "\(signed(gain(source, over: RuleName.baselines))), against the best by value "
                    + "\(signed(gain(source, over: RuleName.informed)))")
            lines.append(
                "  rule                 saved of savable   hits   waste   CPU s per s saved")
            for name in names { lines.append(row(name, outcomes[source]![name]!)) }
        }
        for (words, others) in [
            ("the best plain rule", RuleName.plain), ("the best of four", RuleName.baselines),
        ] {
            let gains = sources.map { gain($0, over: others) }
            lines.append(
                "mean of gains over \(words) \(signed(Self.mean(gains))),"
                    + " least \(signed(gains.min() ?? 0)),"
                    + " of all milliseconds together \(signed(gainInAll(over: others)))")
        }
        lines.append("least gain over the best plain rule in one history \(signed(leastGain))")
        return (lines + ablations).joined(separator: "\n")
    }

    private func row(_ name: RuleName, _ outcome: Outcome) -> String {
        "  " + padded("\(name)", 21) + padded(percent(outcome.savedShare), 19)
            + padded(percent(outcome.hitRate), 7) + padded(percent(outcome.wasteRate), 8)
            + hundredths(outcome.cpuPerSaved)
    }

    /// How much less the predictor saves without each part.
    private var ablations: [String] {
        let ablated = names.filter { if case .without = $0 { true } else { false } }
        guard !ablated.isEmpty else { return [] }
        let width = sources.reduce(8) { max($0, $1.count + 1) }
        let head = (sources + ["mean"]).map { padded($0, width) }.joined()
        var lines = ["lost, in points of the savable time", "  " + padded("", 21) + head + "CPU"]
        for name in [.predictor] + ablated {
            let losses = sources.map {
                outcomes[$0]![.predictor]!.savedShare - outcomes[$0]![name]!.savedShare
            }
            let cells = (losses + [Self.mean(losses)]).map { padded(hundredths($0 * 100), width) }
            let cpu = Self.mean(sources.map { outcomes[$0]![name]!.cpuPerSaved })
            lines.append("  " + padded("\(name)", 21) + cells.joined() + hundredths(cpu))
        }
        return lines
    }

    private static func mean(_ numbers: [Double]) -> Double {
        numbers.reduce(0, +) / Double(max(1, numbers.count))
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
    private func hundredths(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
    private func percent(_ share: Double) -> String { "\((share * 1000).rounded() / 10) %" }
    private func signed(_ gain: Double) -> String { (gain >= 0 ? "+" : "") + percent(gain) }
}

extension Outcome {
    fileprivate var savedShare: Double { savedMilliseconds / max(1e-9, savableMilliseconds) }
    fileprivate var cpuPerSaved: Double { cpuMilliseconds / max(1e-9, savedMilliseconds) }
}
