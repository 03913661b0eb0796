import GreenroomControl
import GreenroomManifest
import UnitFile
import Varlink

/// What was seen of a desktop program on one kind of screen.
struct WindowTrial {
    /// A way to launch the program.
    struct Way {
        let depth: AppManifest.Depth
        var app: String { "measure." + depth.rawValue }
        /// From the request to the window, in nanoseconds.
        var times: [UInt64] = []
        var byteCount: UInt64?
        var launchCount = 0
        /// How many launches showed no window, or were not served by the instance that was prepared.
        /// They have no time.
        var missCount = 0
        /// Why the program is not launched in this way.
        var objection: String?

        fileprivate var note: String? {
            if objection != nil || missCount == 0 { return objection }
            return "\(missCount) of \(launchCount) launches have no time, because they "
                + (depth == .none ? "" : "were not prewarmed, or ") + "showed no window"
        }
    }

    let kind: ScreenKind
    let ways: [Way]
    /// What the held program has done before its window.
    let effects: SideEffects
    /// Why the program should not be held, apart from the objection of the way itself.
    let faults: [String]

    /// All reasons why the program should not be held.
    var refusals: [String] {
        var refusals = [ways.last?.objection].compactMap(\.self) + faults
        if let held = ways.last, held.missCount > 0 {
            refusals.append(
                "\(held.missCount) of \(held.launchCount) launches were not served by the held "
                    + "window")
        }
        if !effects.visibleFiles.isEmpty {
            refusals.append("it changes files before its window")
        }
        if !effects.areFilesComplete {
            refusals.append("its home has more files than can be looked at")
        }
        if !effects.connections.isEmpty {
            refusals.append("it reaches the network before its window")
        }
        if let times = medians {
            if times.held >= times.other { refusals.append("it does not appear sooner") }
        } else if refusals.isEmpty {
            refusals.append("its window was not seen")
        }
        return refusals
    }

    /// The median times of the held program and of the fastest other way.
    var medians: (held: UInt64, other: UInt64)? {
        let others = ways.dropLast().filter { $0.objection == nil }.compactMap(\.times.median)
        guard let held = ways.last?.times.median, let other = others.min() else { return nil }
        return (held, other)
    }
}

/// What a measurement of windows has shown, for people and for programs.
struct WindowReport {
    let trials: [WindowTrial]
    /// The screens on which the program was not measured, and why.
    let absences: [String]
    let verdict: WindowVerdict
    let rounds: Int
    let words: [String]

    func text(_ appearance: Appearance) -> String {
        var table = Table("SCREEN", "LAUNCHED", "WINDOW", "RATIO", "P90", "MEMORY")
        for trial in trials {
            let base = trial.ways[0].times.median
            for way in trial.ways {
                let name = way.depth == .none ? "cold" : way.depth.rawValue
                guard way.objection == nil, let median = way.times.median else {
                    table.add([trial.kind.name, name, "-"], styles: [:])
                    continue
                }
                table.add(
                    [
                        trial.kind.name, name, Self.milliseconds(median),
                        MeasureReport.ratio(median, base),
                        Self.milliseconds(way.times.quantile(0.9) ?? median),
                        way.byteCount.map(Phrase.bytes) ?? "-",
                    ], styles: [:])
            }
        }
        let objections = trials.flatMap { trial in
            trial.ways.compactMap { way in
                way.note.map { "\(trial.kind.name), \(way.depth.rawValue): \($0.harmless)\n" }
            }
        }
        return table.text(appearance) + objections.joined()
            + absences.map { "Not measured \($0).\n" }.joined()
            + "Medians of \(rounds) launches of each kind, in turns, to the first window on a screen of "
            + "its own.\n" + trials.map(Self.seen).joined() + "Verdict: \(verdict.sentence).\n"
            + verdict.lines.map { "    \($0)\n" }.joined()
    }

    /// What the held program did before its window.
    private static func seen(_ trial: WindowTrial) -> String {
        guard trial.ways.last?.objection == nil else { return "" }
        let effects = trial.effects
        let kinds = [
            ("files changed", effects.files), ("temporary files", effects.temporaryFiles),
            ("names on the bus", effects.names), ("internet", effects.connections),
        ]
        let parts = kinds.filter { !$0.1.isEmpty }.map {
            "\($0.0): \($0.1.prefix(shownCount).joined(separator: ", ").harmless)"
                + ($0.1.count > shownCount ? ", …" : "")
        }
        return "Before its window on \(trial.kind.name): "
            + (parts.isEmpty ? "nothing" : parts.joined(separator: "; ")) + ".\n"
    }

    private static let shownCount = 8

    private static func milliseconds(_ nanoseconds: UInt64) -> String {
        Phrase.duration(uSec: Int64(clamping: nanoseconds / 1000))
    }
}

extension WindowReport: ParametersEncodable {
    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("rounds", rounds)
        writer.member("command", words)
        writer.name("results")
        writer.beginArray()
        for trial in trials {
            for way in trial.ways {
                writer.beginObject()
                writer.member("screen", trial.kind.rawValue)
                writer.member("launched", way.depth == .none ? "cold" : way.depth.rawValue)
                writer.member("objection", ifPresent: way.objection)
                writer.name("windowUSec")
                writer.beginArray()
                for time in way.times { writer.value(Int64(clamping: time / 1000)) }
                writer.endArray()
                writer.member("byteCount", ifPresent: way.byteCount)
                writer.member("missCount", way.missCount)
                writer.endObject()
            }
        }
        writer.endArray()
        writer.member("notMeasured", absences)
        writer.member("files", all(\.files))
        writer.member("temporaryFiles", all(\.temporaryFiles))
        writer.member("names", all(\.names))
        writer.member("connections", all(\.connections))
        writer.member("refusals", verdict.refusals)
        writer.member("lines", verdict.lines)
    }

    private func all(_ kind: KeyPath<SideEffects, [String]>) -> [String] {
        Set(trials.flatMap { $0.effects[keyPath: kind] }).sorted()
    }
}

/// Whether the program may be held at its first window.
struct WindowVerdict {
    let refusals: [String]
    /// The lines of a profile; empty if the program may not be held, if nothing is to be written, or
    /// if the program has arguments, because a profile is only for a program without arguments.
    let lines: [String]
    /// Why nothing is written about a program that may be held.
    let objection: String?
    /// Where it may be held: where it was tried, and where the profiles that are installed let it.
    let display: Profile.Display
    private let gain: String

    /// - Parameters:
    ///   - trials: one for each kind of screen on which the program shows a window.
    ///   - profiles: those that are installed for the command. A short trial does not show everything
    ///     that their authors know, so what they exclude stays excluded. Profiles of measurements do
    ///     not count.
    init(_ trials: [WindowTrial], command: [String], profiles: [Profile] = []) {
        // A reason that holds on every screen is given once.
        var refusals: [String] = []
        for trial in trials {
            for refusal in trial.refusals where !refusals.contains(refusal) {
                let isCommon = trials.allSatisfy { $0.refusals.contains(refusal) }
                refusals.append(isCommon ? refusal : "on \(trial.kind.name), \(refusal)")
            }
        }
        self.refusals = refusals
        gain =
            "its window appears after "
            + trials.compactMap { trial in
                trial.medians.map {
                    "\(Self.milliseconds($0.held)) instead of \(Self.milliseconds($0.other)) on "
                        + trial.kind.name
                }
            }.joined(separator: ", and after ")
        let kinds = trials.map(\.kind)
        let profiles = profiles.filter { $0.tested?.hasPrefix(Self.mark) != true }
        display =
            kinds.contains(.wayland) && !profiles.contains { $0.display == .x11 } ? .any : .x11
        objection = Self.objection(kinds, profiles)
        lines =
            refusals.isEmpty && objection == nil && command.count == 1
            ? [
                // A profile has no specifiers, so a % in it is not doubled.
                "[Profile]",
                "Program="
                    + UnitFile.quoted(command[0]).split(
                        separator: "%%", omittingEmptySubsequences: false
                    ).joined(separator: "%"), "Window=yes",
            ] + (display == .any ? [] : ["Display=\(display.rawValue)"]) + [
                "Tested=\(Self.mark): " + kinds.map(\.rawValue).joined(separator: ", ")
            ] : []
    }

    /// What a profile of a measurement was tested with begins with this.
    private static let mark = "greenroomctl measure --windows"

    private static func objection(_ kinds: [ScreenKind], _ profiles: [Profile]) -> String? {
        if let profile = profiles.first(where: { $0.window == .no }) {
            return "\(profile.file) has Window=no"
        }
        // A profile and a manifest cannot exclude X11.
        return kinds.contains(.x11)
            ? nil : "it was not measured on X11, where it would be held, too"
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> String {
        Phrase.duration(uSec: Int64(clamping: nanoseconds / 1000))
    }

    var sentence: String {
        refusals.isEmpty
            ? "it may be held at its first window: \(gain); "
                + (objection.map { "\"--apply\" writes nothing, because \($0)" }
                    ?? (lines.isEmpty
                        ? "it has arguments, so no profile applies to it, but its manifest may say Depth=window"
                        : "\"--apply\" writes this profile"))
            : "it is not to be held at its first window: "
                + refusals.joined(separator: "; ").harmless
    }
}
