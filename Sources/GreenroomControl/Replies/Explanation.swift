public import Varlink

extension Control {
    /// A fact, with a code for programs and a text for humans.
    public struct Note: Hashable, Sendable {
        public var code: String
        public var text: String

        /// The code with which a user's daemon marks an app that belongs to the system's daemon.
        public static let ofSystem = "of_system"

        public init(code: String, text: String) {
            self.code = code
            self.text = text
        }
    }

    /// What `Explain` returns.
    public struct Explanation: Hashable, Sendable {
        public var app: String
        public var isEligible: Bool
        public var reasons: [Note] = []
        public var prewarmedCount = 0
        public var prewarmTarget = 0
        public var prewarmByteCount: UInt64?
        public var retryAfterUSec: Int64?
        public var lastLaunch: LaunchSummary?
        /// The keys of its manifest that confine or limit it, as `Key=value`; nil if there are
        /// none.
        public var confinement: [String]?
        public var supervision: SupervisionStatus?
        /// How far the app is prewarmed; nil if it is not, or if it pauses by itself.
        public var depth: Word<PrewarmDepth>?
        /// How many launches were started anew.
        public var startedAnewCount: Int?
        /// The app's rank in the plan; nil if no plan contains it.
        public var rank: PlannedApp?
        public init(app: String, isEligible: Bool) {
            self.app = app
            self.isEligible = isEligible
        }
    }

    /// An app's latest launch, as `Explain` returns it.
    public struct LaunchSummary: Hashable, Sendable {
        public var instance: UInt64
        public var kind: Word<LaunchKind>
        public var coldReason: Word<ColdReason>?
        public var anewReason: Word<AnewReason>?
        public var elapsedUSec: Int64
        /// CLOCK_REALTIME in microseconds.
        public var timestampUSec: Int64
        /// The variables in which the launch's environment differed from that of paused instances.
        public var differingVariables: [String]?
        /// What of the caller's state no paused instance could take over: `directory`, `umask`,
        /// `streams`, `descriptors`, `limits`, `signals`, `priority`, `processors`, `privileges` or
        /// `personality`.
        public var differingState: [String]?
        public var caller: Caller?
        /// The time from the request until the app was ready.
        public var readyUSec: Int64?
        /// How the instance ended, and how long it ran.
        public var exit: ExitRecord?
        public var ranUSec: Int64?
        public init(
            instance: UInt64, kind: LaunchKind, coldReason: ColdReason? = nil,
            elapsedUSec: Int64, timestampUSec: Int64
        ) {
            self.instance = instance
            self.kind = .known(kind)
            self.coldReason = coldReason.map { .known($0) }
            self.elapsedUSec = elapsedUSec
            self.timestampUSec = timestampUSec
        }
    }
}

extension Control.Note: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("code", code)
        writer.member("text", text)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(code: "", text: "")
        for member in object.members {
            switch member.name {
            case "code": code = try member.text()
            case "text": text = try member.text()
            case _: break
            }
        }
    }
}

extension Control.LaunchSummary: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("instance", instance)
        writer.member("kind", kind)
        writer.member("coldReason", ifPresent: coldReason)
        writer.member("anewReason", ifPresent: anewReason)
        writer.member("elapsedUSec", elapsedUSec)
        writer.member("timestampUSec", timestampUSec)
        writer.member("differingVariables", ifPresent: differingVariables)
        writer.member("differingState", ifPresent: differingState)
        writer.member("caller", ifPresent: caller)
        writer.member("readyUSec", ifPresent: readyUSec)
        writer.member("exit", ifPresent: exit)
        writer.member("ranUSec", ifPresent: ranUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(instance: 0, kind: .cold, elapsedUSec: 0, timestampUSec: 0)
        for member in object.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "kind": kind = try member.word()
            case "coldReason": coldReason = try member.optionalWord()
            case "anewReason": anewReason = try member.optionalWord()
            case "elapsedUSec": elapsedUSec = try member.integer()
            case "timestampUSec": timestampUSec = try member.integer()
            case "differingVariables" where member.value != .null:
                differingVariables = try member.texts()
            case "differingState" where member.value != .null:
                differingState = try member.texts()
            case "caller": caller = try Control.Caller(ifPresent: member)
            case "readyUSec": readyUSec = try member.optionalInteger()
            case "exit": exit = try Control.ExitRecord(ifPresent: member)
            case "ranUSec": ranUSec = try member.optionalInteger()
            case _: break
            }
        }
    }
}

extension Control.Explanation: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("eligible", isEligible)
        writer.member("reasons", objects: reasons)
        writer.member("prewarmedCount", prewarmedCount)
        writer.member("prewarmTarget", prewarmTarget)
        writer.member("prewarmByteCount", ifPresent: prewarmByteCount)
        writer.member("retryAfterUSec", ifPresent: retryAfterUSec)
        writer.member("lastLaunch", ifPresent: lastLaunch)
        writer.member("confinement", ifPresent: confinement)
        writer.member("supervision", ifPresent: supervision)
        writer.member("depth", ifPresent: depth)
        writer.member("startedAnewCount", ifPresent: startedAnewCount)
        writer.member("rank", ifPresent: rank)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(app: "", isEligible: false)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "eligible": isEligible = try member.bool()
            case "reasons":
                reasons = try member.objects(Control.Note.init)
            case "prewarmedCount": prewarmedCount = try member.integer()
            case "prewarmTarget": prewarmTarget = try member.integer()
            case "prewarmByteCount": prewarmByteCount = try member.optionalInteger()
            case "retryAfterUSec": retryAfterUSec = try member.optionalInteger()
            case "lastLaunch":
                lastLaunch =
                    member.value == .null
                    ? nil : try Control.LaunchSummary(try member.object())
            case "confinement":
                confinement = member.value == .null ? nil : try member.texts()
            case "supervision":
                supervision =
                    member.value == .null
                    ? nil : try Control.SupervisionStatus(try member.object())
            case "depth": depth = try member.optionalWord()
            case "startedAnewCount": startedAnewCount = try member.optionalInteger()
            case "rank":
                rank = member.value == .null ? nil : try Control.PlannedApp(try member.object())
            case _: break
            }
        }
    }
}
