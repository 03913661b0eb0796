import ArgumentParser
import GreenroomControl

struct Status: Verb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show instances: all, those of one app, or one.",
        discussion: "Instances that have ended are remembered for a while.")

    @Argument(help: "The app. Default: all.", completion: Candidates.apps)
    var app: String?

    @Option(
        help: ArgumentHelp("The instance, by number.", valueName: "number"),
        completion: Candidates.instances)
    var instance: UInt64?

    @Option(help: "Show only instances in this state; may be repeated.")
    var state: [State] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
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
        var reply = try client.call(.status(target))
        guard case .status(var instances) = reply else { return 1 }
        if !state.isEmpty {
            let wanted = Set(state.map { Control.Word.known($0.state) })
            instances.removeAll { !wanted.contains($0.state) }
            reply = .status(instances)
        }
        let appearance = display.appearance(on: console)
        console.write(
            output.json
                ? Report.json(reply) : Report.instances(instances, now: Phrase.now, appearance))
        if target == nil, !output.json, case .described(let daemon) = try client.call(.describe) {
            console.write(Report.degradation(daemon.degraded, appearance))
        }
        return 0
    }
}

/// A state as it is written on the command line: like in JSON, but with hyphens.
struct State: ExpressibleByArgument, CaseIterable {
    var state: Control.ExecutionState

    static var allCases: [State] { Control.ExecutionState.allCases.map { State(state: $0) } }
    static var allValueStrings: [String] { allCases.map(\.defaultValueDescription) }

    init(state: Control.ExecutionState) { self.state = state }

    init?(argument: String) {
        guard
            let state = Control.ExecutionState(
                rawValue: argument.replacing("-", with: "_"))
        else { return nil }
        self.state = state
    }

    var defaultValueDescription: String { state.rawValue.replacing("_", with: "-") }
}
