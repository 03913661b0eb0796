import ArgumentParser
import GreenroomControl
import Varlink

struct History: Verb {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show past launches: who asked, how they went, how they ended.",
        discussion: """
            The latest launch comes last. You see the launches of your apps and those that you asked \
            for; root sees all.
            """)

    @Argument(help: "The apps, or patterns. Default: all.", completion: Candidates.apps)
    var apps: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "From this time on: 2026-05-01, \"2026-05-01 14:30\", today, 2h.", valueName: "time"))
    var since: PastTime?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Up to this time.", valueName: "time"))
    var until: PastTime?

    @Option(
        name: [.customShort("n", allowingJoined: true), .customLong("lines")],
        help: ArgumentHelp(
            "Only this many, the latest. Default: 100, or all since a time.", valueName: "number"))
    var number: UInt?

    @Flag(help: "Forget the launches of these apps, or of all.")
    var forget = false

    @Flag(help: "Show what prewarming has saved and cost, by app.")
    var savings = false

    @Flag(help: "Keep no launches of your apps from now on, and plan with none.")
    var off = false

    @Flag(help: "Keep them again.")
    var on = false

    @Option(
        help: ArgumentHelp(
            "With --off and --on, as root: this user's instead of your own.", valueName: "number"))
    var uid: UInt32?

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    private static let defaultCount = 100

    mutating func validate() throws {
        guard !forget || (since == nil && until == nil && number == nil) else {
            throw ValidationError("--forget takes apps, and no times.")
        }
        guard !savings || (!forget && number == nil) else {
            throw ValidationError("--savings takes apps and times, and no other option.")
        }
        let isPlain = apps.isEmpty && since == nil && until == nil && number == nil
        guard !(off || on) || (isPlain && !forget && !savings && off != on) else {
            throw ValidationError("--off and --on take no apps and no other option but --uid.")
        }
        guard uid == nil || off || on else {
            throw ValidationError("--uid goes with --off or --on.")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        if off || on { return try keep(client, console) }
        var names: [String] = []
        for app in apps { names.append(Self.pattern(app, client)) }
        if forget { return try forget(names, client, console) }
        let past = PastRecords(
            apps: names, since: since?.microseconds, until: until?.microseconds)
        if savings { return try showSavings(past, client, console) }
        let wanted = Int(clamping: number ?? (since == nil ? UInt(Self.defaultCount) : .max))
        let found = try past.launches(atMost: wanted, client)
        let launches = found.records.reversed()
        if output.json {
            for launch in launches { console.write(Report.json(launch)) }
        } else {
            console.write(Report.history(Array(launches), display.appearance(on: console)))
            if found.isOff { console.write(Report.historyIsOff) }
        }
        return 0
    }

    private func keep(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.keepHistory(on, user: uid))
        if output.json {
            console.write(Report.json(reply))
        } else if off {
            console.write(
                "launches of your apps are no longer kept; "
                    + "what was kept before stays (greenroomctl history --forget)\n")
        }
        return 0
    }

    /// The app or pattern that a word means. A short name that no app has now becomes a pattern,
    /// because an app that was removed still has a history.
    private static func pattern(_ word: String, _ client: ControlClient) -> String {
        if word.contains(where: { "*?[".contains($0) }) || word.contains(".") { return word }
        do throws(Failure) { return try client.resolve(word) } catch { return "*." + word }
    }

    private func showSavings(
        _ past: PastRecords, _ client: ControlClient, _ console: any Console
    ) throws(Failure) -> Int32 {
        let savings = Savings(
            try past.launches(atMost: .max, client).records, try past.pauses(atMost: .max, client))
        if output.json {
            for account in savings.accounts { console.write(Report.json(account)) }
        } else {
            console.write(Report.savings(savings, display.appearance(on: console)))
        }
        return 0
    }

    private func forget(
        _ names: [String], _ client: ControlClient, _ console: any Console
    ) throws(Failure) -> Int32 {
        var count = 0
        for name in names.isEmpty ? [nil] : names.map(Optional.some) {
            guard case .forgotten(let more) = try client.call(.forgetHistory(app: name)) else {
                return 1
            }
            count += more
        }
        console.write(
            output.json
                ? Report.json(ControlReply.forgotten(count: count))
                : "forgot \(count) launch\(count == 1 ? "" : "es")\n")
        return 0
    }
}

extension Report {
    static let historyIsOff = "Your history is off (greenroomctl history --on).\n"

    static func history(
        _ launches: [Control.LaunchRecord], _ appearance: Appearance = .plain
    ) -> String {
        if launches.isEmpty { return "No launches.\n" }
        var table = Table("TIME", "APP", "LAUNCH", "MAIN", "READY", "BY", "END", "RAN")
        for launch in launches {
            table.add(
                [
                    Phrase.dateAndTime(uSec: launch.requestTimestampUSec), launch.app,
                    Phrase.launch(launch.kind, launch.coldReason, anew: launch.anewReason),
                    launch.elapsedUSec.map { Phrase.duration(uSec: $0) } ?? "-",
                    launch.readyUSec.map { Phrase.duration(uSec: $0) } ?? "-",
                    launch.caller.map { "\($0.program ?? "?")[\($0.processId)] of \($0.userId)" }
                        ?? "-",
                    launch.exit.map { Phrase.exit($0) } ?? "runs",
                    launch.ranUSec.map { Phrase.span(uSec: $0) } ?? "-",
                ], styles: [6: launch.exit?.style].compactMapValues { $0 })
        }
        return table.text(appearance)
    }
}
