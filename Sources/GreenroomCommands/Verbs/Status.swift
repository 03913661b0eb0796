import ArgumentParser
import GreenroomControl

struct Status: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Show instances: all, of one app, or one.",
        discussion: "Instances that have ended are remembered for a while.")

    @Argument(help: "The app. Default: all.")
    var app: String?

    @Option(help: ArgumentHelp("The instance, by number.", valueName: "number"))
    var instance: UInt64?

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard app == nil || instance == nil else {
            throw ValidationError("Name an app or an instance, not both.")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        var target: Control.Target?
        if let app { target = .app(try client.resolve(app)) }
        if let instance { target = .instance(instance) }
        let reply = try client.call(.status(target))
        guard case .status(let instances) = reply else { return 1 }
        console.write(
            output.json ? Report.json(reply) : Report.instances(instances, now: Phrase.now))
        if target == nil, !output.json, case .described(let daemon) = try client.call(.describe) {
            console.write(Report.degradation(daemon.degraded))
        }
        return 0
    }
}
