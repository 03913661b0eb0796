public import Varlink

extension Control {
    /// A past paused instance: what it cost, and whether a launch used it.
    public struct PauseRecord: Hashable, Sendable {
        public var app: String
        /// The user that the app runs as.
        public var userId: UInt32
        public var instance: UInt64
        /// When it was paused, and when it was launched or ended: CLOCK_REALTIME in microseconds.
        public var pausedTimestampUSec: Int64
        public var untilTimestampUSec: Int64
        /// The time from its spawn to its pause; nil if another daemon prepared it.
        public var preparationUSec: Int64?
        /// The processor time that its main process had used when it was paused.
        public var processorUSec: Int64?
        public var byteCount: UInt64
        /// How it served a launch; nil if it ended without one.
        public var kind: Word<LaunchKind>?
        /// How far it was prepared; nil if it paused by itself, or if an earlier version kept it.
        public var depth: Word<PrewarmDepth>?

        public init(
            app: String, userId: UInt32, instance: UInt64, pausedTimestampUSec: Int64,
            untilTimestampUSec: Int64, byteCount: UInt64
        ) {
            self.app = app
            self.userId = userId
            self.instance = instance
            self.pausedTimestampUSec = pausedTimestampUSec
            self.untilTimestampUSec = untilTimestampUSec
            self.byteCount = byteCount
        }
    }
}

extension Control.PauseRecord: HistoryRecord {
    public static var pageMember: String { "pauses" }

    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("userId", userId)
        writer.member("instance", instance)
        writer.member("pausedTimestampUSec", pausedTimestampUSec)
        writer.member("untilTimestampUSec", untilTimestampUSec)
        writer.member("preparationUSec", ifPresent: preparationUSec)
        writer.member("processorUSec", ifPresent: processorUSec)
        writer.member("byteCount", byteCount)
        writer.member("kind", ifPresent: kind)
        writer.member("depth", ifPresent: depth)
    }

    public init(_ object: JSONObject) throws(ServiceError) {
        self.init(
            app: "", userId: 0, instance: 0, pausedTimestampUSec: 0, untilTimestampUSec: 0,
            byteCount: 0)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "userId": userId = try member.integer()
            case "instance": instance = try member.integer()
            case "pausedTimestampUSec": pausedTimestampUSec = try member.integer()
            case "untilTimestampUSec": untilTimestampUSec = try member.integer()
            case "preparationUSec": preparationUSec = try member.optionalInteger()
            case "processorUSec": processorUSec = try member.optionalInteger()
            case "byteCount": byteCount = try member.integer()
            case "kind": kind = try member.optionalWord()
            case "depth": depth = try member.optionalWord()
            case _: break
            }
        }
    }
}
