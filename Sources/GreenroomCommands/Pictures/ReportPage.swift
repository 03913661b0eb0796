import GreenroomControl

/// A week in pictures, as one page of HTML: it has its styles in it, loads nothing, and has no
/// script, so it may be kept, sent and opened anywhere. Its colours follow the reader's system.
struct ReportPage {
    private let span: TimeSpan
    private let launches: [Control.LaunchRecord]
    /// Paused instances that have ended, and those that are paused now.
    private let ended: [Control.PauseRecord]
    private let paused: [Control.PauseRecord]
    private let savings: Savings

    /// - Parameters:
    ///   - launches: the earliest first.
    ///   - ended: paused instances that were launched or have ended, the earliest first.
    ///   - paused: the instances that are paused now.
    init(
        _ span: TimeSpan, _ launches: [Control.LaunchRecord], _ ended: [Control.PauseRecord],
        paused: [Control.PauseRecord]
    ) {
        self.span = span
        self.launches = launches
        self.ended = ended
        self.paused = paused
        savings = Savings(launches, ended)
    }

    var html: String {
        let charts = Charts(span: span)
        let from = String(Phrase.dateAndTime(uSec: span.start).prefix(16))
        let to = String(Phrase.dateAndTime(uSec: span.end).prefix(16))
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Greenroom: launches from \(from) to \(to)</title>
            <style>
            \(Self.styles)
            </style>
            </head>
            <body>
            <main>
            <header>
            <h1>Greenroom</h1>
            <p class="quiet">\(from) to \(to)</p>
            </header>
            \(tiles)
            <section>
            <h2>Launches, and how long they took</h2>
            \(Self.legend)
            \(launches.isEmpty ? Self.nothing("No launches.") : charts.launches(launches))
            </section>
            <section>
            <h2>What was warm when</h2>
            <p class="quiet">A bar while an instance waited, paused; a line for each launch.\(
                hiddenCount)</p>
            \(rows.isEmpty ? Self.nothing("Nothing was warm, and nothing was launched.")
                : charts.warmth(rows, ended + paused, launches))
            </section>
            <section>
            <h2>Memory of what was warm</h2>
            \((ended + paused).isEmpty ? Self.nothing("Nothing was warm.")
                : charts.memory(ended + paused))
            </section>
            <section>
            <h2>What prewarming saved and cost</h2>
            <p class="quiet">A launch from the pool saves the time that preparing its instance took. The
            processor time is that of all preparations, including instances that nobody launched.</p>
            \(table)
            </section>
            </main>
            </body>
            </html>

            """
    }

    private static func nothing(_ text: String) -> String { "<p class=\"empty\">\(text)</p>" }

    private static let legend = """
        <p class="legend"><span><i class="prewarmed"></i>prewarmed</span> \
        <span><i class="cold"></i>cold</span> <span><i class="anew"></i>started anew</span></p>
        """

    // MARK: Figures

    private var tiles: String {
        let sum = savings.sum
        let figures = [
            (String(sum.launchCount), sum.launchCount == 1 ? "launch" : "launches"),
            (Phrase.percent(sum.hitShare), "of them prewarmed"),
            (Phrase.span(uSec: sum.savedUSec), "of waiting saved"),
            (Phrase.span(uSec: sum.processorUSec), "of processor time spent"),
            ("\(sum.wastedCount) of \(sum.pausedCount)", "paused for nothing"),
        ]
        let tiles = figures.map {
            "<div><b>\(Markup.escaped($0))</b><span>\($1)</span></div>"
        }
        return "<div class=\"tiles\">\(tiles.joined(separator: "\n"))</div>"
    }

    /// The apps that have a row: those that were launched most, then those that were warm.
    private var allRows: [String] {
        let running = Set(paused.map(\.app)).subtracting(savings.accounts.compactMap(\.app))
        let known = savings.accounts.sorted {
            $0.launchCount != $1.launchCount
                ? $0.launchCount > $1.launchCount : ($0.app ?? "") < ($1.app ?? "")
        }
        return known.compactMap(\.app) + running.sorted()
    }

    private var rows: [String] { Array(allRows.prefix(Charts.rowLimit)) }

    private var hiddenCount: String {
        let count = allRows.count - rows.count
        return count > 0 ? " \(count) more app\(count == 1 ? " is" : "s are") not drawn." : ""
    }

    private var table: String {
        guard !savings.accounts.isEmpty else { return Self.nothing("No launches.") }
        let head = [
            "App", "Launches", "Prewarmed", "Saved", "Paused", "Unused", "Processor", "MiB × h",
        ]
        var text = "<div class=\"scroll\"><table><thead><tr>"
        for name in head { text += "<th scope=\"col\">\(name)</th>" }
        text += "</tr></thead>\n<tbody>\n"
        for account in savings.accounts { text += Self.row(account) }
        return text + "</tbody>\n<tfoot>\n" + Self.row(savings.sum) + "</tfoot></table></div>"
    }

    private static func row(_ account: Savings.Account) -> String {
        let cells = [
            String(account.launchCount),
            "\(account.hitCount) (\(Phrase.percent(account.hitShare)))",
            Phrase.span(uSec: account.savedUSec), String(account.pausedCount),
            String(account.wastedCount), Phrase.span(uSec: account.processorUSec),
            Phrase.decimal(account.mebibyteHours, places: 1),
        ]
        return "<tr><th scope=\"row\">\(Markup.escaped(account.app ?? "All"))</th>"
            + cells.map { "<td>\(Markup.escaped($0))</td>" }.joined() + "</tr>\n"
    }
}

extension ReportPage {
    fileprivate static let styles = """
        :root { color-scheme: light dark; --page: #f4f3ee; --card: #fcfcfb; --ink: #0b0b0b;
          --quiet: #52514e; --grid: #e1e0d9; --axis: #c3c2b7; --prewarmed: #2a78d6;
          --cold: #d9531e; --anew: #c98500; --warm: #b7d3f6; --memory: #1baf7a; }
        @media (prefers-color-scheme: dark) { :root { --page: #0d0d0d; --card: #1a1a19;
          --ink: #ffffff; --quiet: #c3c2b7; --grid: #2c2c2a; --axis: #4a4945;
          --prewarmed: #5a9ff0; --cold: #f0763f; --anew: #e0a52e; --warm: #1c4a85;
          --memory: #199e70; } }
        body { margin: 0; background: var(--page); color: var(--ink);
          font: 15px/1.45 system-ui, sans-serif; }
        main { max-width: 1040px; margin: 0 auto; padding: 28px 20px 48px; }
        header { display: flex; align-items: baseline; gap: 14px; flex-wrap: wrap; }
        h1 { font-size: 26px; margin: 0; }
        h2 { font-size: 16px; margin: 0 0 4px; }
        p { margin: 0 0 10px; }
        .quiet, .legend { color: var(--quiet); font-size: 13px; }
        .empty { color: var(--quiet); padding: 18px 0; }
        .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr));
          gap: 12px; margin: 16px 0; }
        .tiles div, section { background: var(--card); border: 1px solid var(--grid);
          border-radius: 10px; }
        .tiles div { padding: 12px 16px; }
        .tiles b { display: block; font-size: 22px; font-weight: 600; }
        .tiles span { color: var(--quiet); font-size: 13px; }
        section { padding: 16px 20px; margin: 12px 0; }
        .legend span { margin-right: 14px; }
        .legend i { display: inline-block; width: 10px; height: 10px; border-radius: 5px;
          margin-right: 6px; }
        i.prewarmed { background: var(--prewarmed); }
        i.cold { background: var(--cold); }
        i.anew { background: var(--anew); }
        svg { display: block; width: 100%; height: auto; }
        svg .prewarmed { fill: var(--prewarmed); }
        svg .cold { fill: var(--cold); }
        svg .anew { fill: var(--anew); }
        svg circle { stroke: var(--card); stroke-width: 1; }
        svg .warm { fill: var(--warm); }
        svg .memory { fill: var(--memory); fill-opacity: 0.35; stroke: var(--memory); }
        svg .grid { stroke: var(--grid); }
        svg .axis { stroke: var(--axis); }
        svg text { fill: var(--quiet); font-size: 12px; }
        svg text.name { fill: var(--ink); }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { padding: 6px 10px; text-align: right; white-space: nowrap; }
        th:first-child { text-align: left; }
        thead th { color: var(--quiet); font-size: 13px; font-weight: 500; }
        tbody th { font-weight: 400; }
        tbody tr, tfoot tr { border-top: 1px solid var(--grid); }
        tfoot { font-weight: 600; }
        """
}
