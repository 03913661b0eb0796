public import Varlink

extension ControlCall: ParametersEncodable {
    /// The method's fully qualified name.
    public var method: String { Control.prefix + methodName }

    /// Whether the call takes several replies.
    public var wantsMore: Bool { if case .watch = self { true } else { false } }

    private var methodName: String {
        switch self {
        case .describe: "Describe"
        case .list: "List"
        case .status: "Status"
        case .prewarm: "Prewarm"
        case .launch: "Launch"
        case .wait: "Wait"
        case .transition(let transition, _): transition.rawValue
        case .signal: "Signal"
        case .watch: "Watch"
        case .reload: "Reload"
        case .explain: "Explain"
        case .resetFailed: "ResetFailed"
        case .application(let call): call.methodName
        case .prepare: "Prepare"
        case .debugPressure: "DebugPressure"
        case .metrics: "Metrics"
        case .task(let call): call.methodName
        }
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .describe, .list, .reload, .status(nil): break
        case .status(let target?), .transition(_, let target):
            switch target {
            case .app(let app): writer.member("app", app)
            case .instance(let instance): writer.member("instance", instance)
            }
        case .prewarm(let app, let count):
            writer.member("app", app)
            writer.member("count", count)
        case .launch(let launch): launch.encodeMembers(to: &writer)
        case .wait(.instance(let instance)): writer.member("instance", instance)
        case .wait(.launch(let launch)): writer.member("launchIdentifier", launch)
        case .signal(let instance, let signal):
            writer.member("instance", instance)
            writer.member("signal", signal)
        case .explain(let app), .resetFailed(let app), .prepare(let app), .metrics(let app):
            writer.member("app", app)
        case .application(let call): call.encodeMembers(to: &writer)
        case .debugPressure(let level): writer.member("level", level)
        case .watch(let after): writer.member("after", ifPresent: after)
        case .task(let call): call.encodeMembers(to: &writer)
        }
    }
}
