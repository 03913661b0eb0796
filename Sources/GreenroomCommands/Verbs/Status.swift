import ArgumentParser
import GreenroomControl

struct Status: Verb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show instances: all, those of some apps, or one.",
        discussion: """
            Instances that have ended are remembered for a while. For each app that is named, its \
            manifest, its processes and its latest lines in the journal are shown as well.
            """)

    @Argument(help: "The apps, or patterns. Default: all.", completion: Candidates.apps)
    var apps: [String] = []

    @Option(
        help: ArgumentHelp("The instance, by number.", valueName: "number"),
        completion: Candidates.instances)
    var instance: UInt64?

    @Option(help: "Show only instances in this state; may be repeated.")
    var state: [StateOption] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard apps.isEmpty || instance == nil else {
            throw ValidationError("Name an app or an instance, not both.")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        var code: Int32 = 0
        var instances: [Control.InstanceStatus] = []
        var named: [(app: String, daemon: ControlClient)] = []
        if apps.isEmpty {
            guard case .status(let all) = try client.call(.status(instance.map { .instance($0) }))
            else { return 1 }
            instances = all
        } else {
            code = forEach(apps, client, console) { app throws(Failure) in
                let (reply, daemon) = try client.answer(to: .status(.app(app)))
                guard case .status(let own) = reply else { return }
                instances += own
                named.append((app, daemon))
            }
            if code != 0, instances.isEmpty { return code }
        }
        if !state.isEmpty {
            let wanted = Set(state.map { Control.Word.known($0.state) })
            instances.removeAll { !wanted.contains($0.state) }
        }
        let appearance = display.appearance(on: console)
        console.write(
            output.json
                ? Report.json(ControlReply.status(instances))
                : Report.instances(instances, now: Phrase.now, appearance))
        if output.json { return code }
        var manifests: [String: InstalledManifests] = [:]
        for (app, daemon) in named {
            if manifests[daemon.path] == nil {
                manifests[daemon.path] = try? InstalledManifests(socket: daemon.path)
            }
            let details = AppDetails(
                of: app, instances.filter { $0.app == app }, manifests[daemon.path],
                knowsProcesses: daemon.sharesProcessNumbers,
                isUsers: SocketPath.isUsers(daemon.path))
            console.write(Report.details(details, appearance))
        }
        if apps.isEmpty, instance == nil,
            case .described(let daemon) = try client.call(.describe)
        {
            console.write(Report.degradation(daemon.degraded, appearance))
        }
        return code
    }
}

/// A state as it is written on the command line: like in JSON, but with hyphens.
struct StateOption: ExpressibleByArgument, CaseIterable {
    var state: Control.ExecutionState

    static var allCases: [StateOption] {
        Control.ExecutionState.allCases.map { StateOption(state: $0) }
    }
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
