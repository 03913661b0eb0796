import GreenroomControl
import GreenroomManifest
import UnitFile
import Varlink

/// What a measurement of windows has shown, for people and for programs.
struct WindowReport {
    let ways: [WindowMeasurement.Way]
    let effects: SideEffects
    let verdict: WindowVerdict
    let rounds: Int
    let words: [String]

    func text(_ appearance: Appearance) -> String {
        var table = Table("LAUNCHED", "WINDOW", "RATIO", "P90", "MEMORY")
        let base = ways[0].times.median
        for way in ways {
            let name = way.depth == .none ? "cold" : way.depth.rawValue
            guard way.objection == nil, let median = way.times.median else {
                table.add([name, "-"], styles: [:])
                continue
            }
            table.add(
                [
                    name, Self.milliseconds(median), MeasureReport.ratio(median, base),
                    Self.milliseconds(way.times.quantile(0.9) ?? median),
                    way.byteCount.map(Phrase.bytes) ?? "-",
                ], styles: [:])
        }
        let objections = ways.compactMap { way in
            way.objection.map { "\(way.depth.rawValue): \($0.harmless)\n" }
        }
        return table.text(appearance) + objections.joined()
            + "Medians of \(rounds) launches of each kind, in turns, to the first change on a screen of "
            + "its own.\n" + seen + "Verdict: \(verdict.sentence).\n"
            + verdict.lines.map { "    \($0)\n" }.joined()
    }

    /// What the held program did before its window.
    private var seen: String {
        guard ways.last?.objection == nil else { return "" }
        let kinds = [
            ("files changed", effects.files), ("names on the bus", effects.names),
            ("internet sockets", effects.connections),
        ]
        let parts = kinds.filter { !$0.1.isEmpty }.map {
            "\($0.0): \($0.1.prefix(Self.shownCount).joined(separator: ", ").harmless)"
                + ($0.1.count > Self.shownCount ? ", …" : "")
        }
        return "Before its window: " + (parts.isEmpty ? "nothing" : parts.joined(separator: "; "))
            + ".\n"
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
        for way in ways {
            writer.beginObject()
            writer.member("launched", way.depth == .none ? "cold" : way.depth.rawValue)
            writer.member("objection", ifPresent: way.objection)
            writer.name("windowUSec")
            writer.beginArray()
            for time in way.times { writer.value(Int64(clamping: time / 1000)) }
            writer.endArray()
            writer.member("byteCount", ifPresent: way.byteCount)
            writer.endObject()
        }
        writer.endArray()
        writer.member("files", effects.files)
        writer.member("names", effects.names)
        writer.member("connections", effects.connections)
        writer.member("refusals", verdict.refusals)
        writer.member("lines", verdict.lines)
    }
}

/// Whether the program may be held at its first window.
struct WindowVerdict {
    let refusals: [String]
    /// The lines of a profile; empty if the program may not be held, or if it has arguments,
    /// because a profile is only for a program without arguments.
    let lines: [String]
    private let gain: String

    init(
        _ ways: [WindowMeasurement.Way], _ effects: SideEffects, faults: [String],
        command: [String]
    ) {
        var refusals: [String] = []
        let window = ways.last
        if let objection = window?.objection { refusals.append(objection) }
        refusals += faults
        if !effects.visibleFiles.isEmpty {
            refusals.append("it changes files before its window")
        }
        if !effects.connections.isEmpty {
            refusals.append("it reaches the network before its window")
        }
        let others = ways.dropLast().filter { $0.objection == nil }.compactMap(\.times.median)
        if let time = window?.times.median, let other = others.min() {
            gain =
                "its window appears after \(Phrase.duration(uSec: Int64(clamping: time / 1000))) instead "
                + "of \(Phrase.duration(uSec: Int64(clamping: other / 1000)))"
            if time >= other { refusals.append("it does not appear sooner") }
        } else {
            gain = ""
            if refusals.isEmpty { refusals.append("its window was not seen") }
        }
        self.refusals = refusals
        lines =
            refusals.isEmpty && command.count == 1
            ? [
                // Profiles know no specifiers.
                "[Profile]",
                "Program="
                    + UnitFile.quoted(command[0]).split(
                        separator: "%%", omittingEmptySubsequences: false
                    ).joined(separator: "%"), "Window=yes",
                "Tested=greenroomctl measure --windows: x11",
            ] : []
    }

    var sentence: String {
        refusals.isEmpty
            ? "it may be held at its first window: \(gain); "
                + (lines.isEmpty
                    ? "it has arguments, so no profile applies to it, but its manifest may say Depth=window"
                    : "\"--apply\" writes this profile")
            : "it is not to be held at its first window: "
                + refusals.joined(separator: "; ").harmless
    }
}
