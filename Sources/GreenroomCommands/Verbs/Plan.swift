import ArgumentParser
import GreenroomControl

struct Plan: Verb {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show which apps past launches keep warm, and why.",
        discussion: """
            Makes a new plan, and changes nothing. The plan contains the apps with When=auto that \
            their user has launched.
            """)

    @Argument(help: "Only this app.", completion: Candidates.apps)
    var app: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let name = try app.map { app throws(Failure) in try client.resolve(app) }
        let reply = try client.call(.plan(app: name))
        guard case .planned(let plan) = reply else { return 1 }
        console.write(
            output.json ? Report.json(reply) : Report.plan(plan, display.appearance(on: console)))
        return 0
    }
}

extension Report {
    static func plan(_ plan: Control.PlanReport, _ appearance: Appearance = .plain) -> String {
        var text =
            "budget: \(Phrase.bytes(plan.byteBudget)), of which the plan takes "
            + Phrase.bytes(plan.byteCount) + (plan.isOnBattery ? "; on battery" : "") + "\n"
        if plan.isOff { text += historyIsOff }
        guard !plan.apps.isEmpty else {
            if plan.isOff { return text }
            return text + "No app with When=auto was launched yet.\n"
        }
        var table = Table("APP", "PLAN", "WARM", "NEXT", "USUALLY", "SAVES", "WORTH", "MEMORY")
        for app in plan.apps {
            table.add(
                [
                    app.app, app.verdict.words, app.isWarm ? "yes" : "no",
                    Phrase.percent(app.probability), Phrase.percent(app.usualProbability),
                    Phrase.duration(uSec: app.savedUSec), Phrase.gain(uSec: app.valueUSec),
                    Phrase.bytes(app.byteCount),
                ], styles: [1: app.verdict.style].compactMapValues { $0 })
        }
        text += table.text(appearance)
        if let next = plan.apps.first(where: { $0.verdict == .known(.noRoom) }) {
            text += "next, if there were more room: \(next.app.harmless)\n"
        }
        return text
    }

    /// The terms whose sum is the probability, the strongest first.
    static func rank(_ rank: Control.PlannedApp) -> String {
        var text =
            "  plan: \(rank.verdict.words); worth \(Phrase.gain(uSec: rank.valueUSec)) of its "
            + "user's time until the next plan\n"
        text +=
            "    launched next: \(Phrase.percent(rank.probability)), usually "
            + "\(Phrase.percent(rank.usualProbability)). Of the former,\n"
        for share in rank.terms.sorted(by: { $0.probability > $1.probability }) {
            let percent = Phrase.percent(share.probability)
            text += "      " + String(repeating: " ", count: max(0, 6 - percent.count)) + percent
            text += "  \(share.term.words)\n"
        }
        return text
    }
}

extension Control.Word<Control.PlanVerdict> {
    var words: String {
        switch known {
        case .keep: "keep"
        case .prepare: "prepare"
        case .noRoom: "no room"
        case .notWorthIt: "not worth it"
        case nil: rawValue.harmless
        }
    }

    var style: Style? {
        switch known {
        case .keep, .prepare: .good
        case .noRoom: .notable
        case .notWorthIt, nil: .faint
        }
    }
}

extension Control.Word<Control.PlanTerm> {
    fileprivate var words: String {
        switch known {
        case .recency: "how recently it was launched"
        case .frequency: "how often it was launched"
        case .follows: "how often it followed the last app"
        case .followsTwo: "how often it followed the last two apps"
        case .hour: "how often it was launched at this hour"
        case .weekday: "how often it was launched on this weekday"
        case .begins: "how often it was the first after a rest"
        case nil: rawValue.harmless
        }
    }
}

extension Phrase {
    /// `12.5 %`.
    static func percent(_ share: Double) -> String { decimal(share * 100, places: 1) + " %" }

    /// A duration that may be negative.
    static func gain(uSec: Int64) -> String {
        uSec < 0 ? "-" + duration(uSec: 0 &- uSec) : duration(uSec: uSec)
    }

    /// A daemon may send any number. One that does not fit into 64 bits is shown as a dash.
    static func decimal(_ number: Double, places: Int) -> String {
        let unit = places == 0 ? 1 : (0..<places).reduce(1) { result, _ in result * 10 }
        guard let scaled = Int64(exactly: (number * Double(unit)).rounded()) else { return "-" }
        let (whole, rest) = (scaled.magnitude / UInt64(unit), scaled.magnitude % UInt64(unit))
        let sign = scaled < 0 ? "-" : ""
        guard places > 0 else { return sign + String(whole) }
        let digits = String(rest)
        return sign + String(whole) + "."
            + String(repeating: "0", count: places - digits.count) + digits
    }
}
