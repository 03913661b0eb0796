public import Varlink

/// A call to the control interface, decoded and checked.
public enum ControlCall: Hashable, Sendable {
    case describe
    case list
    /// The apps of ``list``, and those that are not installed because they were refused or masked.
    case listAll
    /// The apps of ``list`` that a short name, or the name of a link, may mean.
    case listCalled(String)
    /// All instances, those of one app, or one.
    case status(Control.Target?)
    /// `count` is 1 or more.
    case prewarm(app: String, count: Int)
    case launch(Control.LaunchCall)
    case wait(Control.WaitTarget)
    case transition(Control.Transition, Control.Target)
    /// `signal` is a number of signal(7), 1 to 64.
    case signal(instance: UInt64, signal: Int32)
    /// Events after the one with that number; nil means from now on. With `own`, only events of
    /// apps of the client's user, even if the client may observe others.
    case watch(after: UInt64? = nil, own: Bool = false)
    case reload
    /// Checks whether a reload would install these manifests.
    case verify([Control.ManifestDraft])
    case explain(app: String)
    case resetFailed(app: String)
    case application(Control.ApplicationCall)
    case prepare(app: String)
    case debugPressure(Control.MemoryPressure)
    case metrics(app: String)
    case task(Control.TaskCall)
    case history(Control.HistoryQuery)
    /// Past paused instances.
    case pauseHistory(Control.HistoryQuery)
    /// What is kept warm, and why; nil means all apps.
    case plan(app: String?)
    /// Nil means the launches of every app.
    case forgetHistory(app: String?)
    /// Whether the history of the client's user is kept from now on.
    /// - Parameter user: nil means the caller's.
    case keepHistory(Bool, user: UInt32? = nil)
    case forgetImports(app: String)
    /// What has the foreground of the calling shell's display; nil if no app has it.
    case reportForeground(Control.Front?)
}

extension Control {
    /// The instance whose end a client awaits.
    public enum WaitTarget: Hashable, Sendable {
        case instance(UInt64)
        /// The instance that served this launch.
        case launch(String)
    }

    /// At most this many instances in one `Prewarm`, so that one call does not fill the memory
    /// budget.
    public static let prewarmCountLimit = 16
}

extension ControlCall {
    /// Decodes a call to `io.greenroom.Control`.
    /// - Throws: `methodNotFound`, `expectedMore`, or `invalidParameter` with the name of the first
    ///   parameter that is unknown, missing, or has a wrong value.
    public init(_ call: Call) throws(ServiceError) {
        guard call.method.utf8.starts(with: Control.prefix.utf8) else {
            throw .methodNotFound(call.method)
        }
        let name = call.method[
            call.method.utf8.index(
                call.method.startIndex, offsetBy: Control.prefix.utf8.count)...]
        switch name {
        case "Launch": self = .launch(try Control.LaunchCall(call))
        case "Status": self = .status(try Self.target(call))
        case "Wait": self = .wait(try Self.waitTarget(call))
        case "Signal": self = try Self.signal(call)
        case "Prewarm": self = try Self.prewarm(call)
        case "Explain": self = .explain(app: try Self.app(call))
        case "ResetFailed": self = .resetFailed(app: try Self.app(call))
        case "Prepare": self = .prepare(app: try Self.app(call))
        case "Metrics": self = .metrics(app: try Self.app(call))
        case "DebugPressure": self = try Self.debugPressure(call)
        case "Describe": self = try Self.plain(.describe, call)
        case "List": self = try Self.list(call)
        case "Verify": self = .verify(try Control.ManifestDraft.all(of: call))
        case "History": self = .history(try Control.HistoryQuery(call.parameters))
        case "PauseHistory": self = .pauseHistory(try Control.HistoryQuery(call.parameters))
        case "Plan": self = .plan(app: try Self.optionalApp(call))
        case "ForgetImports": self = .forgetImports(app: try Self.app(call))
        case "ReportForeground": self = .reportForeground(try Control.Front.named(in: call))
        case "ForgetHistory": self = try Self.forgetHistory(call)
        case "KeepHistory": self = try Self.keepHistory(call)
        case "Reload": self = try Self.plain(.reload, call)
        case "Watch":
            guard call.wantsMore else { throw .expectedMore }
            self = try Self.watch(call)
        case _:
            if let call = try Control.ApplicationCall(method: String(name), call) {
                self = .application(call)
                return
            }
            if let call = try Control.TaskCall(method: String(name), call) {
                self = .task(call)
                return
            }
            guard let transition = Control.Transition(rawValue: String(name)) else {
                throw .methodNotFound(call.method)
            }
            guard let target = try Self.target(call) else { throw .invalidParameter("app") }
            self = .transition(transition, target)
        }
    }

    private static func plain(_ result: Self, _ call: Call) throws(ServiceError) -> Self {
        if let member = call.parameters.members.first { throw member.invalid }
        return result
    }

    private static func list(_ call: Call) throws(ServiceError) -> Self {
        var isAll = false
        var name: String?
        for member in call.parameters.members {
            switch member.name {
            case "all": isAll = try member.optionalBool()
            case "called": name = try member.optionalText()
            case _: throw member.invalid
            }
        }
        guard let name else { return isAll ? .listAll : .list }
        // `called` finds only apps that are installed.
        guard !isAll else { throw .invalidParameter("called") }
        return .listCalled(name)
    }

    private static func target(_ call: Call) throws(ServiceError) -> Control.Target? {
        var target: Control.Target?
        for member in call.parameters.members where member.value != .null {
            // At most one of the two may be given.
            guard target == nil else { throw member.invalid }
            switch member.name {
            case "app": target = .app(try member.text())
            case "instance": target = .instance(try member.integer())
            case _: throw member.invalid
            }
        }
        return target
    }

    private static func waitTarget(_ call: Call) throws(ServiceError) -> Control.WaitTarget {
        var target: Control.WaitTarget?
        for member in call.parameters.members where member.value != .null {
            guard target == nil else { throw member.invalid }
            switch member.name {
            case "instance": target = .instance(try member.integer())
            case "launchIdentifier": target = .launch(try member.text())
            case _: throw member.invalid
            }
        }
        guard let target else { throw .invalidParameter("instance") }
        return target
    }

    private static func signal(_ call: Call) throws(ServiceError) -> Self {
        var instance: UInt64?
        var signal: Int32?
        for member in call.parameters.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "signal":
                signal = try member.integer()
                guard 1...64 ~= signal ?? 0 else { throw member.invalid }
            case _: throw member.invalid
            }
        }
        guard let instance else { throw .invalidParameter("instance") }
        guard let signal else { throw .invalidParameter("signal") }
        return .signal(instance: instance, signal: signal)
    }

    private static func prewarm(_ call: Call) throws(ServiceError) -> Self {
        var app: String?
        var count = 1
        for member in call.parameters.members {
            switch member.name {
            case "app": app = try member.text()
            case "count":
                count = try member.optionalInteger() ?? 1
                guard 1...Control.prewarmCountLimit ~= count else { throw member.invalid }
            case _: throw member.invalid
            }
        }
        guard let app else { throw .invalidParameter("app") }
        return .prewarm(app: app, count: count)
    }

    private static func debugPressure(_ call: Call) throws(ServiceError) -> Self {
        var level: Control.MemoryPressure?
        for member in call.parameters.members {
            guard member.name == "level" else { throw member.invalid }
            level = try member.word()
        }
        guard let level else { throw .invalidParameter("level") }
        return .debugPressure(level)
    }

    private static func watch(_ call: Call) throws(ServiceError) -> Self {
        var after: UInt64?
        var own = false
        for member in call.parameters.members {
            switch member.name {
            case "after": after = try member.optionalInteger()
            case "own": own = try member.optionalBool()
            case _: throw member.invalid
            }
        }
        return .watch(after: after, own: own)
    }

    private static func forgetHistory(_ call: Call) throws(ServiceError) -> Self {
        var app: String?
        for member in call.parameters.members {
            guard member.name == "app" else { throw member.invalid }
            app = try member.optionalText()
            guard app?.utf8.count ?? 0 <= Control.HistoryQuery.patternByteLimit else {
                throw member.invalid
            }
        }
        return .forgetHistory(app: app)
    }

    private static func keepHistory(_ call: Call) throws(ServiceError) -> Self {
        var isOn: Bool?
        var user: UInt32?
        for member in call.parameters.members {
            switch member.name {
            case "on": isOn = try member.bool()
            case "user": user = try member.optionalInteger()
            case _: throw member.invalid
            }
        }
        guard let isOn else { throw .invalidParameter("on") }
        return .keepHistory(isOn, user: user)
    }

    private static func app(_ call: Call) throws(ServiceError) -> String {
        guard let app = try optionalApp(call) else { throw .invalidParameter("app") }
        return app
    }

    private static func optionalApp(_ call: Call) throws(ServiceError) -> String? {
        var app: String?
        for member in call.parameters.members {
            guard member.name == "app" else { throw member.invalid }
            app = try member.optionalText()
        }
        return app
    }
}

extension ControlCall: ParametersEncodable {
    /// The method's fully qualified name.
    public var method: String { Control.prefix + methodName }

    /// Whether the call takes several replies.
    public var wantsMore: Bool { if case .watch = self { true } else { false } }

    private var methodName: String {
        switch self {
        case .describe: "Describe"
        case .list, .listAll, .listCalled: "List"
        case .status: "Status"
        case .prewarm: "Prewarm"
        case .launch: "Launch"
        case .wait: "Wait"
        case .transition(let transition, _): transition.rawValue
        case .signal: "Signal"
        case .watch: "Watch"
        case .reload: "Reload"
        case .verify: "Verify"
        case .explain: "Explain"
        case .resetFailed: "ResetFailed"
        case .application(let call): call.methodName
        case .prepare: "Prepare"
        case .debugPressure: "DebugPressure"
        case .metrics: "Metrics"
        case .task(let call): call.methodName
        case .history: "History"
        case .pauseHistory: "PauseHistory"
        case .plan: "Plan"
        case .forgetHistory: "ForgetHistory"
        case .keepHistory: "KeepHistory"
        case .forgetImports: "ForgetImports"
        case .reportForeground: "ReportForeground"
        }
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .describe, .list, .reload, .status(nil): break
        case .listAll: writer.member("all", true)
        case .listCalled(let name): writer.member("called", name)
        case .verify(let drafts): writer.member("manifests", objects: drafts)
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
        case .explain(let app), .resetFailed(let app), .prepare(let app), .metrics(let app),
            .forgetImports(let app):
            writer.member("app", app)
        case .application(let call): call.encodeMembers(to: &writer)
        case .debugPressure(let level): writer.member("level", level)
        case .watch(let after, let own):
            writer.member("after", ifPresent: after)
            if own { writer.member("own", true) }
        case .task(let call): call.encodeMembers(to: &writer)
        case .history(let query), .pauseHistory(let query): query.encodeMembers(to: &writer)
        case .forgetHistory(let app), .plan(let app): writer.member("app", ifPresent: app)
        case .keepHistory(let isOn, let user):
            writer.member("on", isOn)
            writer.member("user", ifPresent: user)
        case .reportForeground(let front): front?.encodeMembers(to: &writer)
        }
    }
}
