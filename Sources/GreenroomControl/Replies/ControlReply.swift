public import Varlink

/// A successful reply to a `ControlCall`. Each call has its own kind of reply.
public enum ControlReply: Hashable, Sendable {
    case described(Control.Description)
    case listed([Control.AppSummary])
    case status([Control.InstanceStatus])
    /// The instances that the call has prepared, which are now paused.
    case prewarmed([UInt64])
    case launched(Control.Launched)
    case exited(Control.Exited)
    case changed(Control.Changed)
    /// One of the many replies to `Watch`. Nil is the first reply of an older daemon, which does
    /// not send the number of the latest event.
    case watched(Control.Event?)
    /// The first reply to `Watch`: the client gets every event after this number.
    case watching(latest: UInt64)
    case reloaded(Control.ReloadReport)
    /// The errors because of which the manifests would not be installed.
    case verified([Control.ManifestFault])
    case explained(Control.Explanation)
    /// The call has succeeded and returns nothing.
    case done
    /// The app that handles the call, and how it was launched.
    case handled(app: String, Control.Launched)
    /// The reply to `Prepare`: whether an instance is paused already.
    case prepared(isReady: Bool)
    case metrics(Control.MetricsReply)
    case tasks([Control.ScheduledTask])
    case history(Control.HistoryPage<Control.LaunchRecord>)
    case pauseHistory(Control.HistoryPage<Control.PauseRecord>)
    case planned(Control.PlanReport)
    /// How many launches the daemon has forgotten.
    case forgotten(count: Int)
    case foreground(Control.Foreground)
}

extension ControlReply: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .described(let description): description.encodeMembers(to: &writer)
        case .listed(let apps): writer.member("apps", objects: apps)
        case .status(let instances): writer.member("instances", objects: instances)
        case .prewarmed(let instances):
            writer.name("instances")
            writer.beginArray()
            for instance in instances { writer.value(Int64(clamping: instance)) }
            writer.endArray()
        case .launched(let launched): launched.encodeMembers(to: &writer)
        case .exited(let exited): exited.encodeMembers(to: &writer)
        case .changed(let changed): changed.encodeMembers(to: &writer)
        case .done: break
        case .watched(let event?): writer.member("event", object: event)
        case .watched(nil):
            writer.name("event")
            writer.null()
        case .watching(let latest):
            writer.name("event")
            writer.null()
            writer.member("latest", latest)
        case .reloaded(let report): report.encodeMembers(to: &writer)
        case .verified(let faults): writer.member("failed", objects: faults)
        case .explained(let explanation): explanation.encodeMembers(to: &writer)
        case .handled(let app, let launched):
            writer.member("app", app)
            launched.encodeMembers(to: &writer)
        case .prepared(let isReady): writer.member("ready", isReady)
        case .metrics(let metrics): metrics.encodeMembers(to: &writer)
        case .tasks(let tasks): writer.member("tasks", objects: tasks)
        case .history(let page): page.encodeMembers(to: &writer)
        case .pauseHistory(let page): page.encodeMembers(to: &writer)
        case .planned(let report): report.encodeMembers(to: &writer)
        case .forgotten(let count): writer.member("count", count)
        case .foreground(let foreground): foreground.encodeMembers(to: &writer)
        }
    }

    /// Decodes the reply to a call. Unknown members come from a newer daemon and are ignored.
    /// - Throws: `invalidParameter` with the name of a member that has a wrong value.
    public init(_ parameters: JSONObject, to call: ControlCall) throws(ServiceError) {
        switch call {
        case .describe: self = .described(try Control.Description(parameters))
        case .list, .listAll, .listCalled:
            self = .listed(
                try Self.required("apps", parameters).objects { (object) throws(ServiceError) in
                    try Control.AppSummary(object)
                })
        case .status:
            let member = try Self.required("instances", parameters)
            self = .status(
                try member.objects(Control.InstanceStatus.init))
        case .prewarm:
            self = .prewarmed(try Self.required("instances", parameters).integers())
        case .launch: self = .launched(try Control.Launched(parameters))
        case .wait: self = .exited(try Control.Exited(parameters))
        case .transition: self = .changed(try Control.Changed(parameters))
        case .watch:
            guard let event = parameters["event"], event != .null else {
                let latest = parameters["latest"].map {
                    JSONObject.Member(name: "latest", value: $0)
                }
                let number: UInt64? = try latest?.optionalInteger()
                self = number.map { .watching(latest: $0) } ?? .watched(nil)
                return
            }
            let member = JSONObject.Member(name: "event", value: event)
            self = .watched(try Control.Event(try member.object()))
        case .reload: self = .reloaded(try Control.ReloadReport(parameters))
        case .verify:
            self = .verified(
                try Self.required("failed", parameters).objects { (object) throws(ServiceError) in
                    try Control.ManifestFault(object)
                })
        case .explain: self = .explained(try Control.Explanation(parameters))
        case .prepare: self = .prepared(isReady: try Self.required("ready", parameters).bool())
        case .signal, .resetFailed, .forgetImports, .keepHistory, .debugPressure: self = .done
        case .history: self = .history(try .init(parameters))
        case .pauseHistory: self = .pauseHistory(try .init(parameters))
        case .plan: self = .planned(try Control.PlanReport(parameters))
        case .forgetHistory:
            self = .forgotten(count: try Self.required("count", parameters).integer())
        case .reportForeground: self = .foreground(try Control.Foreground(parameters))
        case .metrics: self = .metrics(try Control.MetricsReply(parameters))
        case .task(.list):
            self = .tasks(
                try Self.required("tasks", parameters).objects { (object) throws(ServiceError) in
                    try Control.ScheduledTask(object)
                })
        case .task(.run), .task(.expire): self = .changed(try Control.Changed(parameters))
        case .application(.open), .application(.performAction), .application(.notify),
            .application(.continueActivity), .application(.deliver):
            let app = try Self.required("app", parameters).text()
            self = .handled(app: app, try Control.Launched(parameters))
        case .application(.scene(_, .discard, _)), .application(.setDefaultHandler),
            .application(.lock), .application(.unlock):
            self = .done
        case .application(.scene(_, .activate, _)), .application(.scene(_, .background, _)),
            .application(.scene(_, .disconnect, _)):
            self = .changed(try Control.Changed(parameters))
        }
    }

    private static func required(
        _ name: String, _ parameters: JSONObject
    ) throws(ServiceError) -> JSONObject.Member {
        guard let value = parameters[name] else { throw .invalidParameter(name) }
        return JSONObject.Member(name: name, value: value)
    }
}
