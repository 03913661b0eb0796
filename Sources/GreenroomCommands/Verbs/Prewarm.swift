import ArgumentParser
import GreenroomControl

struct Prewarm: Verb {
    static let configuration = CommandConfiguration(
        commandName: "prewarm",
        abstract: "Prepare paused instances of an app.",
        discussion: "Returns when they are paused. The next launches take a fraction of the time."
    )

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Option(help: ArgumentHelp("How many, 1 to \(Control.prewarmCountLimit).", valueName: "number"))
    var count = 1

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard 1...Control.prewarmCountLimit ~= count else {
            throw ValidationError("--count takes 1 to \(Control.prewarmCountLimit).")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let app = try client.resolve(app)
        let reply = try client.call(.prewarm(app: app, count: count))
        guard case .prewarmed(let instances) = reply else { return 1 }
        if output.json {
            console.write(Report.json(reply))
        } else {
            for instance in instances { console.line("\(app): instance \(instance): prewarmed") }
        }
        return 0
    }
}
