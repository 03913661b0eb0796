public import Varlink

extension Control {
    /// The launches in the history that a client asks for, the latest first.
    public struct HistoryQuery: Hashable, Sendable {
        /// Identifiers, or patterns with `*`, `?` and `[`; empty means every app.
        public var apps: [String] = []
        /// Only launches that were requested in this period: CLOCK_REALTIME in microseconds.
        public var sinceTimestampUSec: Int64?
        public var untilTimestampUSec: Int64?
        /// At most this many, and never more than ``pageLimit``.
        public var limit: Int?
        /// Only launches before this one: `next` of an earlier reply.
        public var before: Int64?

        /// A reply has at most this many launches, so that a call takes the daemon no longer than a
        /// launch.
        public static let pageLimit = 100
        public static let appLimit = 32
        /// As long as an identifier may be.
        static let patternByteLimit = 255

        public init() {}
    }
}

extension Control.HistoryQuery: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        if !apps.isEmpty { writer.member("apps", apps) }
        writer.member("sinceTimestampUSec", ifPresent: sinceTimestampUSec)
        writer.member("untilTimestampUSec", ifPresent: untilTimestampUSec)
        writer.member("limit", ifPresent: limit)
        writer.member("before", ifPresent: before)
    }

    /// Decodes and checks the parameters of a call.
    init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case "apps":
                apps = try member.optionalTexts() ?? []
                guard apps.count <= Self.appLimit,
                    apps.allSatisfy({ $0.utf8.count <= Self.patternByteLimit })
                else { throw member.invalid }
            case "sinceTimestampUSec": sinceTimestampUSec = try member.optionalInteger()
            case "untilTimestampUSec": untilTimestampUSec = try member.optionalInteger()
            case "limit":
                limit = try member.optionalInteger()
                guard limit.map({ $0 > 0 }) ?? true else { throw member.invalid }
            case "before": before = try member.optionalInteger()
            case _: throw member.invalid
            }
        }
    }
}
