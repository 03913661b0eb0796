public import Varlink

extension Control {
    /// Who asked for a launch.
    public struct Caller: Hashable, Sendable {
        /// The user of the process that connected, as the kernel reports it.
        public var userId: UInt32
        public var processId: Int32
        /// The name that the process has given itself; nil if it had ended before the daemon read
        /// the name. For an app made with the SDK, the app's identifier.
        public var program: String?

        public init(userId: UInt32, processId: Int32, program: String? = nil) {
            self.userId = userId
            self.processId = processId
            self.program = program
        }
    }

    /// One launch, from its request to its end.
    public struct LaunchRecord: Hashable, Sendable {
        public var app: String
        /// The user that the app runs as.
        public var userId: UInt32
        public var instance: UInt64
        public var launchIdentifier: String
        /// Nil if the daemon launched the app by itself, or if the request came to an earlier run
        /// of the daemon.
        public var caller: Caller?
        public var kind: Word<LaunchKind>
        public var coldReason: Word<ColdReason>?
        public var anewReason: Word<AnewReason>?
        /// When it was requested: CLOCK_REALTIME in microseconds.
        public var requestTimestampUSec: Int64
        /// The time from the request to the program's first instruction, or, if the instance ran
        /// already, to the answer.
        public var elapsedUSec: Int64?
        /// The time from the request until the app was ready.
        public var readyUSec: Int64?
        /// How the instance ended; nil while it runs.
        public var exit: ExitRecord?
        /// The time from the program's first instruction to the end.
        public var ranUSec: Int64?

        public init(
            app: String, userId: UInt32, instance: UInt64, launchIdentifier: String,
            kind: LaunchKind, requestTimestampUSec: Int64
        ) {
            self.app = app
            self.userId = userId
            self.instance = instance
            self.launchIdentifier = launchIdentifier
            self.kind = .known(kind)
            self.requestTimestampUSec = requestTimestampUSec
        }
    }
}

extension Control.Caller: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("userId", Int64(userId))
        writer.member("processId", processId)
        writer.member("program", ifPresent: program)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(userId: 0, processId: 0)
        for member in object.members {
            switch member.name {
            case "userId": userId = try member.integer()
            case "processId": processId = try member.integer()
            case "program": program = try member.optionalText()
            case _: break
            }
        }
    }

    init?(ifPresent member: JSONObject.Member) throws(ServiceError) {
        if member.value == .null { return nil }
        try self.init(try member.object())
    }
}

extension Control.LaunchRecord: HistoryRecord {
    public static var pageMember: String { "launches" }

    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        writer.member("userId", Int64(userId))
        writer.member("instance", instance)
        writer.member("launchIdentifier", launchIdentifier)
        writer.member("caller", ifPresent: caller)
        writer.member("kind", kind)
        writer.member("coldReason", ifPresent: coldReason)
        writer.member("anewReason", ifPresent: anewReason)
        writer.member("requestTimestampUSec", requestTimestampUSec)
        writer.member("elapsedUSec", ifPresent: elapsedUSec)
        writer.member("readyUSec", ifPresent: readyUSec)
        writer.member("exit", ifPresent: exit)
        writer.member("ranUSec", ifPresent: ranUSec)
    }

    public init(_ object: JSONObject) throws(ServiceError) {
        self.init(
            app: "", userId: 0, instance: 0, launchIdentifier: "", kind: .cold,
            requestTimestampUSec: 0)
        for member in object.members {
            switch member.name {
            case "app": app = try member.text()
            case "userId": userId = try member.integer()
            case "instance": instance = try member.integer()
            case "launchIdentifier": launchIdentifier = try member.text()
            case "caller": caller = try Control.Caller(ifPresent: member)
            case "kind": kind = try member.word()
            case "coldReason": coldReason = try member.optionalWord()
            case "anewReason": anewReason = try member.optionalWord()
            case "requestTimestampUSec": requestTimestampUSec = try member.integer()
            case "elapsedUSec": elapsedUSec = try member.optionalInteger()
            case "readyUSec": readyUSec = try member.optionalInteger()
            case "exit": exit = try Control.ExitRecord(ifPresent: member)
            case "ranUSec": ranUSec = try member.optionalInteger()
            case _: break
            }
        }
    }
}
