public import Varlink

extension Control {
    /// Work that an app has scheduled, as `Tasks` returns it.
    public struct ScheduledTask: Hashable, Sendable {
        public var app: String
        public var identifier: String
        public var kind: Word<TaskKind>
        public var state: Word<TaskState>
        /// The earliest time at which it may begin: CLOCK_REALTIME in microseconds.
        public var earliestTimestampUSec: Int64?
        public var requiresExternalPower = false
        public var requiresNetwork = false
        /// The instance that runs the task.
        public var instance: UInt64?
        /// The time that is left for the run.
        public var remainingUSec: Int64?
        /// Why a pending task is not run now.
        public var hold: Note?

        public init(app: String, identifier: String, kind: TaskKind, state: TaskState) {
            self.app = app
            self.identifier = identifier
            self.kind = .known(kind)
            self.state = .known(state)
        }
    }

    public enum TaskKind: String, CaseIterable, Sendable {
        case appRefresh = "app_refresh"
        case processing
    }

    public enum TaskState: String, CaseIterable, Sendable {
        case pending
        case launching
        case running
    }

    /// How a run ended.
    public enum TaskOutcome: String, CaseIterable, Sendable {
        case succeeded
        case failed
        case unhandled
        case expired
        case ended
    }
}

extension Control.ScheduledTask: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("identifier", identifier)
        writer.member("kind", kind)
        writer.member("state", state)
        writer.member("earliestTimestampUSec", ifPresent: earliestTimestampUSec)
        writer.member("requiresExternalPower", requiresExternalPower)
        writer.member("requiresNetwork", requiresNetwork)
        writer.member("instance", ifPresent: instance)
        writer.member("remainingUSec", ifPresent: remainingUSec)
        writer.member("hold", ifPresent: hold)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(app: "", identifier: "", kind: .appRefresh, state: .pending)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "identifier": identifier = try member.text()
            case "kind": kind = try member.word()
            case "state": state = try member.word()
            case "earliestTimestampUSec": earliestTimestampUSec = try member.optionalInteger()
            case "requiresExternalPower": requiresExternalPower = try member.bool()
            case "requiresNetwork": requiresNetwork = try member.bool()
            case "instance": instance = try member.optionalInteger()
            case "remainingUSec": remainingUSec = try member.optionalInteger()
            case "hold":
                hold = member.value == .null ? nil : try Control.Note(try member.object())
            case _: break
            }
        }
    }
}
