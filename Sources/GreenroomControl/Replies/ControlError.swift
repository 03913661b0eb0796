public import Varlink

/// The errors of the control interface, in addition to the errors of every Varlink service.
public enum ControlError: CallError, Hashable, Sendable {
    case noSuchApp(String, suggestion: String?)
    /// There is no such instance, or no instance of that app is running.
    case notRunning(Control.Target)
    case noSuchLaunch(String)
    case illegalTransition(
        instance: UInt64, from: Control.Word<Control.ExecutionState>,
        to: Control.Word<Control.ExecutionState>)
    /// The app cannot be prewarmed.
    /// - Parameter reason: why, and what to do about it; nil from older daemons.
    case ineligible(app: String, reason: String? = nil)
    case refused(code: String, reason: String)
    /// `needed` says which right the client lacks.
    case permissionDenied(needed: String)
    /// `stage` is the stage of the spawn that failed, `errno` the kernel's error number, `reason`
    /// its meaning.
    case spawnFailed(stage: String, errno: Int32, reason: String)
    /// - Parameter wasReclaimed: whether the reason is that the app's memory was taken back, and
    ///   not a failure.
    case backOff(
        app: String, retryAfterUSec: Int64, isCrashLooping: Bool, wasReclaimed: Bool = false)
    case limitExceeded(what: String, limit: Int)
    case shuttingDown
}

extension ControlError {
    /// The error's fully qualified name.
    public var name: String { Control.prefix + shortName }

    private var shortName: String {
        switch self {
        case .noSuchApp: "NoSuchApp"
        case .notRunning: "NotRunning"
        case .noSuchLaunch: "NoSuchLaunch"
        case .illegalTransition: "IllegalTransition"
        case .ineligible: "Ineligible"
        case .refused: "Refused"
        case .permissionDenied: "PermissionDenied"
        case .spawnFailed: "SpawnFailed"
        case .backOff: "BackOff"
        case .limitExceeded: "LimitExceeded"
        case .shuttingDown: "ShuttingDown"
        }
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .noSuchApp(let app, let suggestion):
            writer.member("app", app)
            writer.member("suggestion", ifPresent: suggestion)
        case .notRunning(.app(let app)): writer.member("app", app)
        case .ineligible(let app, let reason):
            writer.member("app", app)
            writer.member("reason", ifPresent: reason)
        case .notRunning(.instance(let instance)): writer.member("instance", instance)
        case .noSuchLaunch(let launch): writer.member("launchIdentifier", launch)
        case .illegalTransition(let instance, let from, let to):
            writer.member("instance", instance)
            writer.member("from", from)
            writer.member("to", to)
        case .refused(let code, let reason):
            writer.member("code", code)
            writer.member("reason", reason)
        case .permissionDenied(let needed): writer.member("needed", needed)
        case .spawnFailed(let stage, let errno, let reason):
            writer.member("stage", stage)
            writer.member("errno", errno)
            writer.member("reason", reason)
        case .backOff(let app, let retryAfterUSec, let isCrashLooping, let wasReclaimed):
            writer.member("app", app)
            writer.member("retryAfterUSec", retryAfterUSec)
            writer.member("crashLooping", isCrashLooping)
            if wasReclaimed { writer.member("reclaimed", true) }
        case .limitExceeded(let what, let limit):
            writer.member("what", what)
            writer.member("limit", limit)
        case .shuttingDown: break
        }
    }

    /// Decodes the error of a reply; nil if it is not one of these.
    /// - Throws: `invalidParameter` with the name of a member that has a wrong value.
    public init?(_ reply: Reply) throws(ServiceError) {
        guard let error = reply.error, error.hasPrefix(Control.prefix) else { return nil }
        let fields = Fields(object: reply.parameters)
        switch error.dropFirst(Control.prefix.count) {
        case "NoSuchApp":
            self = .noSuchApp(
                try fields["app"].text(), suggestion: try fields["suggestion"].optionalText())
        case "NotRunning":
            if let instance: UInt64 = try fields["instance"].optionalInteger() {
                self = .notRunning(.instance(instance))
            } else {
                self = .notRunning(.app(try fields["app"].text()))
            }
        case "NoSuchLaunch": self = .noSuchLaunch(try fields["launchIdentifier"].text())
        case "IllegalTransition":
            self = .illegalTransition(
                instance: try fields["instance"].integer(), from: try fields["from"].word(),
                to: try fields["to"].word())
        case "Ineligible":
            self = .ineligible(
                app: try fields["app"].text(), reason: try fields["reason"].optionalText())
        case "Refused":
            self = .refused(
                code: try fields["code"].text(), reason: try fields["reason"].text())
        case "PermissionDenied":
            self = .permissionDenied(needed: try fields["needed"].text())
        case "SpawnFailed":
            self = .spawnFailed(
                stage: try fields["stage"].text(), errno: try fields["errno"].integer(),
                reason: try fields["reason"].text())
        case "BackOff":
            self = .backOff(
                app: try fields["app"].text(),
                retryAfterUSec: try fields["retryAfterUSec"].integer(),
                isCrashLooping: try fields["crashLooping"].optionalBool(),
                wasReclaimed: try fields["reclaimed"].optionalBool())
        case "LimitExceeded":
            self = .limitExceeded(
                what: try fields["what"].text(), limit: try fields["limit"].integer())
        case "ShuttingDown": self = .shuttingDown
        case _: return nil
        }
    }

    private struct Fields {
        let object: JSONObject
        subscript(name: String) -> JSONObject.Member {
            JSONObject.Member(name: name, value: object[name] ?? .null)
        }
    }
}
