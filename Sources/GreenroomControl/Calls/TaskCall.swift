internal import Varlink

extension Control {
    /// Calls about scheduled work.
    public enum TaskCall: Hashable, Sendable {
        /// Lists the work of one app, or of all if nil.
        case list(app: String?)
        /// Runs a pending request now, whatever its conditions.
        case run(app: String, identifier: String)
        /// Makes the time of the app's run, or of its background tasks, expire.
        case expire(app: String)
    }
}

extension Control.TaskCall {
    var methodName: String {
        switch self {
        case .list: "Tasks"
        case .run: "DebugRunTask"
        case .expire: "DebugExpireTask"
        }
    }

    /// Nil if the method is not one of these.
    init?(method: String, _ call: Call) throws(ServiceError) {
        var app: String?
        var identifier: String?
        guard ["Tasks", "DebugRunTask", "DebugExpireTask"].contains(method) else { return nil }
        for member in call.parameters.members {
            switch member.name {
            case "app": app = try member.optionalText()
            case "identifier" where method == "DebugRunTask": identifier = try member.text()
            case _: throw member.invalid
            }
        }
        if method == "Tasks" {
            self = .list(app: app)
            return
        }
        guard let app else { throw .invalidParameter("app") }
        if method == "DebugExpireTask" {
            self = .expire(app: app)
            return
        }
        guard let identifier else { throw .invalidParameter("identifier") }
        self = .run(app: app, identifier: identifier)
    }

    func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .list(let app): writer.member("app", ifPresent: app)
        case .expire(let app): writer.member("app", app)
        case .run(let app, let identifier):
            writer.member("app", app)
            writer.member("identifier", identifier)
        }
    }
}
