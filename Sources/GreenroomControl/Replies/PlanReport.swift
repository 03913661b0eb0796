public import Varlink

extension Control {
    /// What a plan says about an app.
    public enum PlanVerdict: String, CaseIterable, Sendable {
        case keep
        case prepare
        case noRoom = "no_room"
        case notWorthIt = "not_worth_it"
    }

    /// A reason to expect that an app will be launched next.
    public enum PlanTerm: String, CaseIterable, Sendable {
        case recency
        case frequency
        case follows
        case followsTwo = "follows_two"
        case hour
        case weekday
        case begins
    }

    /// What a term adds to the probability that an app is launched next.
    public struct TermShare: Hashable, Sendable {
        public var term: Word<PlanTerm>
        public var probability: Double
        /// The natural logarithm of the probability, or of 0.0001 if that is more. Clients of
        /// earlier versions know nothing else.
        public var logarithm: Double

        public init(term: PlanTerm, probability: Double, logarithm: Double) {
            self.term = .known(term)
            self.probability = probability
            self.logarithm = logarithm
        }
    }

    /// An app's place in the ranking, and the plan's decision about it.
    public struct PlannedApp: Hashable, Sendable {
        public var app: String
        public var userId: UInt32
        public var verdict: Word<PlanVerdict>
        public var isWarm: Bool
        /// The probability that the user launches the app next, and its average over the last
        /// launches.
        public var probability: Double
        public var usualProbability: Double
        public var terms: [TermShare]
        /// What a launch from the pool saves, and what keeping the app warm until the next plan is
        /// worth. The latter may be negative.
        public var savedUSec: Int64
        public var valueUSec: Int64
        public var byteCount: UInt64

        public init(
            app: String, userId: UInt32, verdict: PlanVerdict, isWarm: Bool, probability: Double,
            usualProbability: Double, terms: [TermShare], savedUSec: Int64, valueUSec: Int64,
            byteCount: UInt64
        ) {
            self.app = app
            self.userId = userId
            self.verdict = .known(verdict)
            self.isWarm = isWarm
            self.probability = probability
            self.usualProbability = usualProbability
            self.terms = terms
            self.savedUSec = savedUSec
            self.valueUSec = valueUSec
            self.byteCount = byteCount
        }
    }

    /// What `Plan` returns.
    public struct PlanReport: Hashable, Sendable {
        /// The bytes for apps with When=auto: the budget minus what other apps hold; for anybody but
        /// root and the daemon's user, the whole budget.
        public var byteBudget: UInt64
        /// The memory of those planned apps that the report is about.
        public var byteCount: UInt64
        public var isOnBattery: Bool
        /// The caller's user has turned the history off.
        public var isOff = false
        /// The caller's apps, those with the most value for each byte first.
        public var apps: [PlannedApp]

        /// A reply has at most this many apps.
        public static let appLimit = 100

        public init(
            byteBudget: UInt64 = 0, byteCount: UInt64 = 0, isOnBattery: Bool = false,
            apps: [PlannedApp] = []
        ) {
            self.byteBudget = byteBudget
            self.byteCount = byteCount
            self.isOnBattery = isOnBattery
            self.apps = apps
        }
    }
}

extension Control.TermShare: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("term", term)
        writer.member("probability", probability)
        writer.member("logarithm", logarithm)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(term: .recency, probability: 0, logarithm: 0)
        for member in object.members {
            switch member.name {
            case "term": term = try member.word()
            case "probability": probability = try member.number()
            case "logarithm": logarithm = try member.number()
            case _: break
            }
        }
    }
}

extension Control.PlannedApp: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("userId", userId)
        writer.member("verdict", verdict)
        writer.member("warm", isWarm)
        writer.member("probability", probability)
        writer.member("usualProbability", usualProbability)
        writer.member("terms", objects: terms)
        writer.member("savedUSec", savedUSec)
        writer.member("valueUSec", valueUSec)
        writer.member("byteCount", byteCount)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(
            app: "", userId: 0, verdict: .notWorthIt, isWarm: false, probability: 0,
            usualProbability: 0, terms: [], savedUSec: 0, valueUSec: 0, byteCount: 0)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "userId": userId = try member.integer()
            case "verdict": verdict = try member.word()
            case "warm": isWarm = try member.bool()
            case "probability": probability = try member.number()
            case "usualProbability": usualProbability = try member.number()
            case "terms":
                terms = try member.objects(Control.TermShare.init)
            case "savedUSec": savedUSec = try member.integer()
            case "valueUSec": valueUSec = try member.integer()
            case "byteCount": byteCount = try member.integer()
            case _: break
            }
        }
    }
}

extension Control.PlanReport: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("byteBudget", byteBudget)
        writer.member("byteCount", byteCount)
        writer.member("onBattery", isOnBattery)
        writer.member("off", isOff)
        writer.member("apps", objects: apps)
    }

    public init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case "byteBudget": byteBudget = try member.integer()
            case "byteCount": byteCount = try member.integer()
            case "onBattery": isOnBattery = try member.bool()
            case "off": isOff = try member.bool()
            case "apps":
                apps = try member.objects(Control.PlannedApp.init)
            case _: break
            }
        }
    }
}
