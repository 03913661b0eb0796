import GreenroomControl
import GreenroomManifest

/// A way to start the program that is measured beside the others.
struct Contender {
    let name: String
    /// The app of the private daemon; nil means that the program is executed directly.
    let app: String?
    /// The depth that a manifest would name; nil for a way that is not chosen by a depth.
    let depth: AppManifest.Depth?
    /// What is learned from launches of the program before it is measured; nil if that changes
    /// nothing.
    let lesson: Lesson?
    var samples: [Sample] = []
    /// How long each preparation took, in nanoseconds, and what a paused instance holds, in bytes.
    var preparations: [UInt64] = []
    var byteCount: UInt64?
    /// Why the daemon does not prewarm the program in this way.
    var objection: String?
    /// How many launches were not served by an instance that was paused at this depth.
    var missCount = 0

    enum Lesson {
        /// Which libraries the program opens after main.
        case libraries
        /// What the program imports.
        case imports
    }

    init(
        _ name: String, app: String? = nil, depth: AppManifest.Depth? = nil, lesson: Lesson? = nil
    ) {
        self.name = name
        self.app = app
        self.depth = depth
        self.lesson = lesson
    }

    /// When each run first printed something, in nanoseconds; nil unless every run did.
    var firstOutputs: [UInt64]? {
        let times = samples.compactMap(\.firstOutput)
        return times.count == samples.count && !times.isEmpty ? times : nil
    }

    /// The times to the goal of the measurement, in nanoseconds.
    var goals: [UInt64] { samples.map(\.goal) }
}

extension [UInt64] {
    /// The quantile by nearest rank: at least this part of the values, 0 to 1, does not exceed it.
    /// Nil if there are no values.
    func quantile(_ part: Double) -> UInt64? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        return sorted[
            Swift.min(count - 1, Int((Double(count) * part).rounded(.up)) - (part > 0 ? 1 : 0))]
    }

    /// The value in the middle; if the number of values is even, the lower of the two in the
    /// middle.
    var median: UInt64? { quantile(0.5) }
}

/// What a measurement recommends.
struct MeasureVerdict: Equatable {
    enum Choice: Equatable {
        /// Prewarm to this depth.
        case depth(AppManifest.Depth)
        /// Do not prewarm.
        case none
    }

    let choice: Choice
    let reason: String

    /// A depth is worth its memory if it saves this part of the time, or this many nanoseconds.
    static let savedPart = 0.1
    static let savedTime: UInt64 = 5_000_000

    /// - Parameters:
    ///   - direct: how the program is executed without a daemon.
    ///   - others: the depths, the least deep first.
    ///   - goal: when the program counts as ready if it has printed nothing. A server may print
    ///     something before it listens.
    init(direct: Contender, _ others: [Contender], to goal: MeasuredGoal = .end) {
        let first = goal == .end ? direct.firstOutputs?.median : nil
        func time(_ contender: Contender) -> UInt64? {
            first == nil ? contender.goals.median : contender.firstOutputs?.median
        }
        guard let base = first ?? direct.goals.median, base > 0 else {
            choice = .none
            reason = "nothing was measured"
            return
        }
        let isRepeatable = Self.agree(direct.samples)
        var best: (contender: Contender, time: UInt64)?
        var faults: [String] = []
        for contender in others where contender.objection == nil {
            if contender.missCount > 0 {
                faults.append(
                    "\(contender.name): \(contender.missCount) launches were not prewarmed")
            } else if isRepeatable, !Self.agree(direct.samples + contender.samples) {
                faults.append("\(contender.name): the output or the status differs")
            } else if let time = time(contender), time < best?.time ?? .max {
                best = (contender, time)
            }
        }
        let note = faults.isEmpty ? "" : " (\(faults.joined(separator: "; ")))"
        guard let best, let depth = best.contender.depth, best.time < base,
            Double(base - best.time) >= Double(base) * Self.savedPart
                || base - best.time >= Self.savedTime
        else {
            choice = .none
            reason = "no depth saves a tenth of the time or 5 ms" + note
            return
        }
        choice = .depth(depth)
        let percent = Int((Double(base - best.time) / Double(base) * 100).rounded())
        reason =
            "\(best.contender.name) saves \(percent) % of the time to "
            + (first != nil ? "the first output" : goal == .end ? "the end" : "listening") + note
    }

    /// Whether all runs printed the same and ended alike.
    private static func agree(_ samples: [Sample]) -> Bool {
        samples.allSatisfy { $0.exit == samples[0].exit && $0.output == samples[0].output }
    }
}
