import ArgumentParser
import GreenroomControl

struct Prewarm: Verb {
    static let configuration = CommandConfiguration(
        commandName: "prewarm",
        abstract: "Prepare paused instances of an app.",
        discussion: "Returns when they are paused. The next launches take a fraction of the time."
    )

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

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
        forEach(apps, client, console, where: \.isEligible) { app throws(Failure) in
            let reply = try client.call(.prewarm(app: app, count: count))
            guard case .prewarmed(let instances) = reply else { return }
            if output.json { return console.write(Report.json(reply)) }
            for instance in instances { console.line("\(app): instance \(instance): prewarmed") }
        }
    }
}
