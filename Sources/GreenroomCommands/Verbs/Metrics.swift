import ArgumentParser
import GreenroomControl
import GreenroomLinux

struct Metrics: Verb {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Show how apps launch and end: times, exits, hangs.",
        discussion: "Times count from the user's request. They are kept across reboots.")

    @Argument(
        help: "The apps, or patterns. Default: all apps that have metrics.",
        completion: Candidates.apps)
    var apps: [String] = []

    @Flag(help: "Print JSON: the reply's parameters as greenroomd sent them.") var json = false

    @Option(help: ArgumentHelp("Print them for a monitoring system."))
    var format: ExpositionFormat?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Replace this file, as a whole, instead of printing.", valueName: "file"),
        completion: .file())
    var output: String?

    @Flag(help: "Answer a scraper's request: standard input and output are its connection.")
    var http = false

    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws {
        guard !http || format == nil && output == nil && !json else {
            throw ValidationError("With --http, the scraper says which format it reads.")
        }
        guard !json || format == nil else {
            throw ValidationError("Choose one of --json and --format.")
        }
        guard output == nil || format != nil else {
            throw ValidationError("--output needs --format.")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        if http {
            let exchange = HTTPExchange.read()
            console.write(
                try exchange.response { format throws(Failure) in
                    try exposition(format, client, console).text
                })
            return 0
        }
        guard let format else { return show(client, console) }
        let (text, code) = try exposition(format, client, console)
        guard let output else {
            console.write(text)
            return code
        }
        do throws(SystemError) { try SmallFile.replace(output, with: text) } catch {
            console.complain("writing \(output): \(error)")
            return 1
        }
        return code
    }

    private func show(_ client: ControlClient, _ console: any Console) -> Int32 {
        forEach(words, client, console) { app throws(Failure) in
            let reply = try client.call(.metrics(app: app))
            guard case .metrics(let metrics) = reply, !apps.isEmpty || metrics.total.isCounted
            else { return }
            console.write(json ? Report.json(reply) : Report.metrics(metrics))
        }
    }

    private var words: [String] { apps.isEmpty ? ["*"] : apps }

    private func exposition(
        _ format: ExpositionFormat, _ client: ControlClient, _ console: any Console
    ) throws(Failure) -> (text: String, code: Int32) {
        var counted: [Control.MetricsReply] = []
        let code = forEach(words, client, console) { app throws(Failure) in
            if case .metrics(let metrics) = try client.call(.metrics(app: app)),
                metrics.total.isCounted
            {
                counted.append(metrics)
            }
        }
        guard case .status(var instances) = try client.call(.status(nil)) else { return ("", 1) }
        if !apps.isEmpty {
            let names = Set(counted.map(\.app))
            instances.removeAll { !names.contains($0.app) }
        }
        return (Exposition(format, counted, instances).text, code)
    }
}

extension Control.AppMetrics {
    /// Whether the app was launched or has ended since counting began.
    fileprivate var isCounted: Bool {
        !launches.isEmpty || !exits.isEmpty || !hangs.isEmpty || !savings.isEmpty
    }
}
