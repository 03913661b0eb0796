import ArgumentParser
import GreenroomControl

struct HistoryReport: Verb {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write a page of HTML that shows the past week in pictures.",
        discussion: """
            The page has launches and their times, what was warm when, the memory for it, and what \
            prewarming has saved and cost. It loads nothing and has no script: \
            greenroomctl report >week.html
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("From this time on. Default: 7d, a week ago.", valueName: "time"))
    var since: PastTime?

    @OptionGroup var daemon: DaemonOptions

    private static let usual = "7d"
    /// At most this many launches and as many paused instances, the latest: a page of some
    /// megabytes.
    private static let recordLimit = 20_000

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        guard console.appearance.columns == nil else {
            throw .refused(
                "terminal",
                "the page is HTML, for a browser; write it to a file with "
                    + "\"greenroomctl report >week.html\"")
        }
        let now = Phrase.now
        let begin = (since ?? PastTime(Self.usual, now: now))?.microseconds ?? 0
        let past = PastRecords(apps: [], since: begin, until: nil)
        let launches = try past.launches(atMost: Self.recordLimit, client).records
        let ended = try past.pauses(atMost: Self.recordLimit, client)
        let page = ReportPage(
            TimeSpan(from: min(begin, now), to: now), launches.reversed(),
            ended.reversed(), paused: try paused(now, client))
        console.write(page.html)
        return 0
    }

    /// The instances that are paused now. They are not in the history yet.
    private func paused(
        _ now: Int64, _ client: ControlClient
    ) throws(Failure) -> [Control.PauseRecord] {
        guard case .status(let instances) = try client.call(.status(nil)) else { return [] }
        return instances.filter { $0.state == .known(.prewarmed) }.map {
            Control.PauseRecord(
                app: $0.app, userId: 0, instance: $0.instance,
                pausedTimestampUSec: $0.sinceTimestampUSec, untilTimestampUSec: now,
                byteCount: $0.byteCount ?? 0)
        }
    }
}
