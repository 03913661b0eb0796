public import Varlink

/// The input of a plan: the apps that may be kept warm, and the memory for them.
public struct PlanRequest: Hashable, Sendable {
    public struct App: Hashable, Sendable {
        public var app: String
        public var user: UInt32
        /// The memory of the app's full pool.
        public var byteCount: UInt64
        /// The time that the last prewarm took; nil if this daemon has not seen one.
        public var preparationUSec: Int64?
        /// How far an instance is prepared; nil if it pauses by itself.
        public var depth: Control.Word<Control.PrewarmDepth>?
        /// Whether the app says when it is ready, so that its launches can be compared.
        public var tellsReadiness = false
        public var isWarm: Bool

        public init(
            app: String, user: UInt32, byteCount: UInt64, preparationUSec: Int64?, isWarm: Bool
        ) {
            self.app = app
            self.user = user
            self.byteCount = byteCount
            self.preparationUSec = preparationUSec
            self.isWarm = isWarm
        }
    }

    public var apps: [App]
    public var byteBudget: UInt64
    /// The machine runs on battery, so work costs more.
    public var isOnBattery: Bool
    /// Memory is short, so memory costs more.
    public var isMemoryShort: Bool

    public init(
        apps: [App] = [], byteBudget: UInt64 = 0, isOnBattery: Bool = false,
        isMemoryShort: Bool = false
    ) {
        self.apps = apps
        self.byteBudget = byteBudget
        self.isOnBattery = isOnBattery
        self.isMemoryShort = isMemoryShort
    }
}

extension PlanRequest: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("apps", objects: apps)
        writer.member("byteBudget", byteBudget)
        writer.member("isOnBattery", isOnBattery)
        writer.member("isMemoryShort", isMemoryShort)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case "apps":
                apps = try member.objects { (object) throws(ServiceError) in try App(object) }
            case "byteBudget": byteBudget = try member.integer()
            case "isOnBattery": isOnBattery = try member.bool()
            case "isMemoryShort": isMemoryShort = try member.bool()
            case _: throw member.invalid
            }
        }
    }
}

extension PlanRequest.App: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("user", user)
        writer.member("byteCount", byteCount)
        writer.member("preparationUSec", ifPresent: preparationUSec)
        writer.member("depth", ifPresent: depth)
        writer.member("tellsReadiness", tellsReadiness)
        writer.member("isWarm", isWarm)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(app: "", user: 0, byteCount: 0, preparationUSec: nil, isWarm: false)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "user": user = try member.integer()
            case "byteCount": byteCount = try member.integer()
            case "preparationUSec": preparationUSec = try member.optionalInteger()
            case "depth": depth = try member.optionalWord()
            case "tellsReadiness": tellsReadiness = try member.bool()
            case "isWarm": isWarm = try member.bool()
            case _: throw member.invalid
            }
        }
    }
}
