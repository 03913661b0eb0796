public import Varlink

extension Control {
    /// What `Launch` returns.
    public struct Launched: Hashable, Sendable {
        public var instance: UInt64
        public var processId: Int32?
        /// The inode of the process's pidfd, by which a client that opens one knows the process
        /// from another that has got its number (pidfd_open(2)).
        public var processInode: UInt64?
        public var launchIdentifier: String
        public var kind: Word<LaunchKind>
        public var coldReason: Word<ColdReason>?
        public var anewReason: Word<AnewReason>?
        /// Whether an earlier call made this launch, so that this is the recorded outcome.
        public var isRepeated: Bool
        /// The time from reading the request to the program's first instruction, or to its exec.
        public var elapsedUSec: Int64

        public init(
            instance: UInt64, processId: Int32?, processInode: UInt64? = nil,
            launchIdentifier: String, kind: LaunchKind,
            coldReason: ColdReason? = nil, anewReason: AnewReason? = nil, isRepeated: Bool = false,
            elapsedUSec: Int64
        ) {
            self.instance = instance
            self.processId = processId
            self.processInode = processInode
            self.launchIdentifier = launchIdentifier
            self.kind = .known(kind)
            self.coldReason = coldReason.map { .known($0) }
            self.anewReason = anewReason.map { .known($0) }
            self.isRepeated = isRepeated
            self.elapsedUSec = elapsedUSec
        }
    }

    /// What `Wait` returns.
    public struct Exited: Hashable, Sendable {
        public var instance: UInt64
        public var app: String
        public var exit: ExitRecord
        public init(instance: UInt64, app: String, exit: ExitRecord) {
            self.instance = instance
            self.app = app
            self.exit = exit
        }
    }

    /// What the transitions return.
    public struct Changed: Hashable, Sendable {
        public var instance: UInt64
        public var state: Word<ExecutionState>
        public init(instance: UInt64, state: ExecutionState) {
            self.instance = instance
            self.state = .known(state)
        }
    }
}

extension Control.Launched: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("instance", instance)
        writer.member("processId", ifPresent: processId)
        writer.member("processInode", ifPresent: processInode)
        writer.member("launchIdentifier", launchIdentifier)
        writer.member("kind", kind)
        writer.member("coldReason", ifPresent: coldReason)
        writer.member("anewReason", ifPresent: anewReason)
        writer.member("repeated", isRepeated)
        writer.member("elapsedUSec", elapsedUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(
            instance: 0, processId: nil, launchIdentifier: "", kind: .cold, elapsedUSec: 0)
        for member in object.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "processId": processId = try member.optionalInteger()
            case "processInode": processInode = try member.optionalInteger()
            case "launchIdentifier": launchIdentifier = try member.text()
            case "kind": kind = try member.word()
            case "coldReason": coldReason = try member.optionalWord()
            case "anewReason": anewReason = try member.optionalWord()
            case "repeated": isRepeated = try member.bool()
            case "elapsedUSec": elapsedUSec = try member.integer()
            case _: break
            }
        }
    }
}

extension Control.Exited: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("instance", instance)
        writer.member("app", app)
        writer.member("exit", object: exit)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(instance: 0, app: "", exit: .init(reason: .unknown))
        for member in object.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "app": app = try member.text()
            case "exit": exit = try Control.ExitRecord(try member.object())
            case _: break
            }
        }
    }
}

extension Control.Changed: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("instance", instance)
        writer.member("state", state)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(instance: 0, state: .notRunning)
        for member in object.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "state": state = try member.word()
            case _: break
            }
        }
    }
}
