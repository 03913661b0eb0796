import ArgumentParser
import GreenroomControl
import Varlink

struct Trace: Verb {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Write an app's latest launch as a trace for Perfetto.",
        discussion: "Open it at https://ui.perfetto.dev, or in chrome://tracing.")

    @Argument(help: "The app.", completion: Candidates.apps) var app: String

    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let name = try client.resolve(app)
        guard case .explained(let explanation) = try client.call(.explain(app: name)) else {
            return 1
        }
        guard let launch = explanation.lastLaunch else {
            console.complain("\(name) has not been launched since the daemon started")
            return 1
        }
        let steps = steps(of: launch.instance, client)
        console.write(LaunchTrace(of: name, launch, steps: steps).text)
        return 0
    }

    /// The steps that an app made with an SDK has taken; none if the instance is forgotten.
    private func steps(of instance: UInt64, _ client: ControlClient) -> [Control.LaunchStep] {
        guard case .status(let found)? = try? client.call(.status(.instance(instance))) else {
            return []
        }
        return found.first?.steps ?? []
    }
}

/// A launch in the JSON form of Chrome's trace events, which Perfetto reads: spans from the request
/// to the first instruction and on to the ready app; the app's own steps and its end as instants.
struct LaunchTrace {
    private let app: String
    private let launch: Control.LaunchSummary
    private let steps: [Control.LaunchStep]

    init(of app: String, _ launch: Control.LaunchSummary, steps: [Control.LaunchStep]) {
        self.app = app
        self.launch = launch
        self.steps = steps
    }

    /// CLOCK_REALTIME in microseconds. A daemon may send numbers that are too large to add.
    private var requestedAt: Int64 { launch.timestampUSec &- launch.elapsedUSec }

    private enum Track: Int64, CaseIterable {
        case launch = 1
        case steps = 2

        var name: String {
            switch self {
            case .launch: "launch"
            case .steps: "steps of the app"
            }
        }
    }

    /// Steps that are later than an hour do not belong to the launch.
    private static let limit: Int64 = 3_600_000_000

    var text: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("displayTimeUnit", "ms")
        writer.name("traceEvents")
        writer.beginArray()
        name("process_name", "\(app), instance \(launch.instance)", .launch, &writer)
        for track in Track.allCases { name("thread_name", track.name, track, &writer) }
        let steps = steps.filter { $0.elapsedUSec < Self.limit }
        let how = Phrase.launch(launch)
        let end = max(
            launch.readyUSec ?? 0, launch.elapsedUSec, steps.map(\.elapsedUSec).max() ?? 0)
        span("launch: \(how)", from: 0, to: end, &writer)
        span("request to main", from: 0, to: launch.elapsedUSec, &writer)
        if let ready = launch.readyUSec {
            span("main to ready", from: launch.elapsedUSec, to: ready, &writer)
        }
        for step in steps { instant(step.step, at: step.elapsedUSec, &writer) }
        if let exit = launch.exit, let ran = launch.ranUSec {
            instant("end: \(Phrase.exit(exit))", at: launch.elapsedUSec &+ ran, &writer)
        }
        writer.endArray()
        writer.endObject()
        return writer.text.harmlessJSON + "\n"
    }

    private func begin(
        _ kind: String, _ name: String, _ track: Track, _ writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("ph", kind)
        writer.member("name", name)
        writer.member("cat", "launch")
        writer.member("pid", launch.instance)
        writer.member("tid", track.rawValue)
    }

    private func name(
        _ kind: String, _ text: String, _ track: Track, _ writer: inout JSONWriter
    ) {
        begin("M", kind, track, &writer)
        writer.name("args")
        writer.beginObject()
        writer.member("name", text)
        writer.endObject()
        writer.endObject()
    }

    private func span(
        _ text: String, from start: Int64, to end: Int64, _ writer: inout JSONWriter
    ) {
        begin("X", text, .launch, &writer)
        writer.member("ts", requestedAt &+ start)
        writer.member("dur", max(0, end &- start))
        writer.name("args")
        writer.beginObject()
        if let caller = launch.caller { writer.member("caller", Phrase.caller(caller)) }
        writer.endObject()
        writer.endObject()
    }

    private func instant(_ text: String, at time: Int64, _ writer: inout JSONWriter) {
        begin("i", text, .steps, &writer)
        writer.member("ts", requestedAt &+ time)
        writer.member("s", "t")
        writer.endObject()
    }
}
