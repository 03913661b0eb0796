import GreenroomControl
import GreenroomManifest
import Varlink

/// What a measurement has shown, for people and for programs.
struct MeasureReport {
    private let contenders: [Contender]
    private let verdict: MeasureVerdict
    private let rounds: Int
    private let words: [String]
    private let goal: MeasuredGoal

    init(
        _ contenders: [Contender], _ verdict: MeasureVerdict, to goal: MeasuredGoal, rounds: Int,
        words: [String]
    ) {
        self.goal = goal
        self.contenders = contenders
        self.verdict = verdict
        self.rounds = rounds
        self.words = words
    }

    private static let histogramWidth = 24

    /// The times of the curve.
    private func curve(of contender: Contender) -> [UInt64] {
        (goal == .end ? contender.firstOutputs : nil) ?? contender.goals
    }

    func text(_ appearance: Appearance) -> String {
        let base = contenders[0]
        let times = contenders.flatMap { curve(of: $0) }
        let histogram = Histogram(of: times, width: Self.histogramWidth)
        var table = Table(
            "STARTED", "OUTPUT", "RATIO", goal == .end ? "END" : "LISTENING", "RATIO", "P90",
            "MEMORY", "PREPARED", "TIMES")
        for contender in contenders {
            if contender.objection != nil {
                table.add([contender.name, "-"], styles: [:])
                continue
            }
            table.add(
                [
                    contender.name, Self.milliseconds(contender.firstOutputs?.median),
                    Self.ratio(contender.firstOutputs?.median, base.firstOutputs?.median),
                    Self.milliseconds(contender.goals.median),
                    Self.ratio(contender.goals.median, base.goals.median),
                    Self.milliseconds(contender.goals.quantile(0.9)),
                    contender.byteCount.map(Phrase.bytes) ?? "-",
                    Self.milliseconds(contender.preparations.median),
                    histogram.line(curve(of: contender)),
                ], styles: [:])
        }
        // A reason does not fit into a column.
        let objections = contenders.compactMap { contender in
            contender.objection.map { "\(contender.name): \($0.harmless)\n" }
        }
        return table.text(appearance) + objections.joined()
            + "Medians of \(rounds) runs of each kind, in turns, on this machine now; the curves go from "
            + "\(Self.milliseconds(times.min())) to \(Self.milliseconds(times.max())).\n"
            + "Verdict: \(sentence).\n"
    }

    private var sentence: String {
        switch verdict.choice {
        case .depth(let depth): "Depth=\(depth.rawValue): \(verdict.reason)"
        case .none: "it need not be prewarmed: \(verdict.reason)"
        }
    }

    private static func milliseconds(_ nanoseconds: UInt64?) -> String {
        nanoseconds.map { Phrase.duration(uSec: Int64(clamping: $0 / 1000)) } ?? "-"
    }

    /// In hundredths.
    static func ratio(_ time: UInt64?, _ base: UInt64?) -> String {
        guard let time, let base, base > 0 else { return "-" }
        let hundredths = (time * 100 + base / 2) / base
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension MeasureReport: ParametersEncodable {
    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("rounds", rounds)
        writer.member("command", words)
        writer.name("results")
        writer.beginArray()
        for contender in contenders {
            writer.beginObject()
            contender.encodeMembers(to: &writer, goal)
            writer.endObject()
        }
        writer.endArray()
        switch verdict.choice {
        case .depth(let depth): writer.member("depth", depth.rawValue)
        case .none: writer.member("depth", AppManifest.Depth.none.rawValue)
        }
        writer.member("reason", verdict.reason)
    }
}

extension Contender {
    fileprivate func encodeMembers(to writer: inout JSONWriter, _ goal: MeasuredGoal) {
        writer.member("started", name)
        writer.member("objection", ifPresent: objection)
        if let firstOutputs { Self.encode("firstOutputUSec", firstOutputs, to: &writer) }
        Self.encode(goal == .end ? "endUSec" : "listeningUSec", goals, to: &writer)
        Self.encode("preparedUSec", preparations, to: &writer)
        writer.member("byteCount", ifPresent: byteCount)
        writer.member("missCount", missCount)
    }

    private static func encode(_ name: String, _ times: [UInt64], to writer: inout JSONWriter) {
        writer.name(name)
        writer.beginArray()
        for time in times { writer.value(Int64(clamping: time / 1000)) }
        writer.endArray()
    }
}
