public import Varlink

/// A call from the daemon to greenroom-history, which keeps the launches. Both always have the same
/// version, so this interface has no description.
public enum HistoryCall: Hashable, Sendable {
    case append(HistoryBatch)
    /// - Parameter user: only launches of this user's apps, and those that this user asked for; nil
    ///   means all.
    case query(Control.HistoryQuery, user: UInt32?)
    /// - Parameters:
    ///   - app: only launches of this app; nil means of every app.
    ///   - user: only launches of this user's apps; nil means all.
    case forget(app: String?, user: UInt32?)
    /// Asks which apps to keep warm.
    case plan(PlanRequest)
    /// The same, with the terms of each app's rank.
    ///
    /// - Parameters:
    ///   - app: only this app; nil means every app.
    ///   - user: only this user's apps; nil means all.
    case rank(PlanRequest, app: String?, user: UInt32?)
    /// - Parameter user: only paused instances of this user's apps; nil means all.
    case pauses(Control.HistoryQuery, user: UInt32?)
}

/// Launches to be recorded, and updates of launches that are already recorded.
public struct HistoryBatch: Hashable, Sendable {
    public var launches: [Control.LaunchRecord] = []
    /// Each update applies to those launches of its instance that have not ended.
    public var updates: [Control.LaunchRecord] = []
    /// Paused instances that were launched or have ended.
    public var pauses: [Control.PauseRecord] = []
    /// The instances that exist when a daemon starts; nil in later batches. If an instance is
    /// missing here, nobody saw its end.
    public var living: [UInt64]?
    /// Launches are kept for this many days, and at most this many per user.
    public var days: Int
    public var launchesPerUser: Int

    public init(days: Int, launchesPerUser: Int) {
        self.days = days
        self.launchesPerUser = launchesPerUser
    }

    public var count: Int { launches.count + updates.count + pauses.count }
}

/// What greenroom-history answers.
public enum HistoryReply: Hashable, Sendable {
    case done
    case found(Control.HistoryPage<Control.LaunchRecord>)
    case forgotten(count: Int)
    /// The identifiers of the apps to keep warm.
    case planned([String])
    case ranked(Control.PlanReport)
    case foundPauses(Control.HistoryPage<Control.PauseRecord>)
}

/// The call failed. The reason is meant for the journal or for the client.
public struct HistoryError: CallError, Hashable {
    public let reason: String
    public init(reason: String) { self.reason = reason }
    public static let name = "io.greenroom.History.Failed"
    public var name: String { Self.name }
    public func encodeMembers(to writer: inout JSONWriter) { writer.member("reason", reason) }
}

extension HistoryCall: ParametersEncodable {
    public var method: String {
        switch self {
        case .append: "io.greenroom.History.Append"
        case .query: "io.greenroom.History.Query"
        case .forget: "io.greenroom.History.Forget"
        case .plan: "io.greenroom.History.Plan"
        case .rank: "io.greenroom.History.Rank"
        case .pauses: "io.greenroom.History.Pauses"
        }
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .append(let batch):
            writer.member("launches", objects: batch.launches)
            writer.member("updates", objects: batch.updates)
            writer.member("pauses", objects: batch.pauses)
            if let living = batch.living {
                writer.name("living")
                writer.beginArray()
                for instance in living { writer.value(Int64(clamping: instance)) }
                writer.endArray()
            }
            writer.member("days", batch.days)
            writer.member("launchesPerUser", batch.launchesPerUser)
        case .query(let query, let user), .pauses(let query, let user):
            writer.member("query", object: query)
            writer.member("user", ifPresent: user)
        case .forget(let app, let user):
            writer.member("app", ifPresent: app)
            writer.member("user", ifPresent: user)
        case .plan(let request): request.encodeMembers(to: &writer)
        case .rank(let request, let app, let user):
            writer.member("request", object: request)
            writer.member("app", ifPresent: app)
            writer.member("user", ifPresent: user)
        }
    }

    public init(_ call: Call) throws(ServiceError) {
        switch call.method {
        case "io.greenroom.History.Append": self = .append(try HistoryBatch(call.parameters))
        case "io.greenroom.History.Query":
            let (query, user) = try Self.query(call)
            self = .query(query, user: user)
        case "io.greenroom.History.Pauses":
            let (query, user) = try Self.query(call)
            self = .pauses(query, user: user)
        case "io.greenroom.History.Forget":
            var app: String?
            var user: UInt32?
            for member in call.parameters.members {
                switch member.name {
                case "app": app = try member.optionalText()
                case "user": user = try member.optionalInteger()
                case _: throw member.invalid
                }
            }
            self = .forget(app: app, user: user)
        case "io.greenroom.History.Plan": self = .plan(try PlanRequest(call.parameters))
        case "io.greenroom.History.Rank":
            var request = PlanRequest()
            var app: String?
            var user: UInt32?
            for member in call.parameters.members {
                switch member.name {
                case "request": request = try PlanRequest(try member.object())
                case "app": app = try member.optionalText()
                case "user": user = try member.optionalInteger()
                case _: throw member.invalid
                }
            }
            self = .rank(request, app: app, user: user)
        case _: throw .methodNotFound(call.method)
        }
    }

    private static func query(
        _ call: Call
    ) throws(ServiceError) -> (Control.HistoryQuery, user: UInt32?) {
        var query = Control.HistoryQuery()
        var user: UInt32?
        for member in call.parameters.members {
            switch member.name {
            case "query": query = try Control.HistoryQuery(try member.object())
            case "user": user = try member.optionalInteger()
            case _: throw member.invalid
            }
        }
        return (query, user)
    }
}

extension HistoryBatch {
    fileprivate init(_ object: JSONObject) throws(ServiceError) {
        self.init(days: 0, launchesPerUser: 0)
        func records(
            _ member: JSONObject.Member
        ) throws(ServiceError) -> [Control.LaunchRecord] {
            try member.objects(Control.LaunchRecord.init)
        }
        for member in object.members {
            switch member.name {
            case "launches": launches = try records(member)
            case "updates": updates = try records(member)
            case "pauses":
                pauses = try member.objects(Control.PauseRecord.init)
            case "living": living = try member.integers()
            case "days": days = try member.integer()
            case "launchesPerUser": launchesPerUser = try member.integer()
            case _: throw member.invalid
            }
        }
    }
}

extension HistoryReply: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .done: break
        case .found(let page): page.encodeMembers(to: &writer)
        case .forgotten(let count): writer.member("count", count)
        case .planned(let apps): writer.member("apps", apps)
        case .ranked(let report): report.encodeMembers(to: &writer)
        case .foundPauses(let page): page.encodeMembers(to: &writer)
        }
    }

    public init(_ reply: Reply, to call: HistoryCall) throws(HistoryError) {
        if let error = reply.error {
            guard error == HistoryError.name, case .string(let reason)? = reply.parameters["reason"]
            else { throw HistoryError(reason: error) }
            throw HistoryError(reason: reason)
        }
        do throws(ServiceError) {
            switch call {
            case .append: self = .done
            case .query: self = .found(try .init(reply.parameters))
            case .forget:
                var count = 0
                for member in reply.parameters.members where member.name == "count" {
                    count = try member.integer()
                }
                self = .forgotten(count: count)
            case .plan:
                var apps: [String] = []
                for member in reply.parameters.members where member.name == "apps" {
                    apps = try member.texts()
                }
                self = .planned(apps)
            case .rank: self = .ranked(try Control.PlanReport(reply.parameters))
            case .pauses: self = .foundPauses(try .init(reply.parameters))
            }
        } catch {
            throw HistoryError(reason: "greenroom-history is another version (\(error))")
        }
    }
}
