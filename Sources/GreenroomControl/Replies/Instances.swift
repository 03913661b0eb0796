public import Varlink

extension Control {
    /// How an instance ended. If status and signal are nil, nobody could read them.
    public struct ExitRecord: Hashable, Sendable {
        public var reason: Word<ExitReason>
        public var status: UInt8?
        public var signal: Int32?
        public var coreDumped: Bool
        public var lastState: Word<ExecutionState>?
        /// CLOCK_REALTIME in microseconds.
        public var timestampUSec: Int64

        public init(
            reason: ExitReason, status: UInt8? = nil, signal: Int32? = nil,
            coreDumped: Bool = false, lastState: ExecutionState? = nil, timestampUSec: Int64 = 0
        ) {
            self.reason = .known(reason)
            self.status = status
            self.signal = signal
            self.coreDumped = coreDumped
            self.lastState = lastState.map { .known($0) }
            self.timestampUSec = timestampUSec
        }
    }

    /// What `Status` returns for an instance.
    public struct InstanceStatus: Hashable, Sendable {
        public var instance: UInt64
        public var app: String
        public var state: Word<ExecutionState>
        /// When it entered the state: CLOCK_REALTIME in microseconds.
        public var sinceTimestampUSec: Int64
        public var processId: Int32?
        public var launchIdentifier: String?
        public var kind: Word<LaunchKind>?
        public var coldReason: Word<ColdReason>?
        public var anewReason: Word<AnewReason>?
        public var launchElapsedUSec: Int64?
        public var isAttached = false
        public var byteCount: UInt64?
        public var exit: ExitRecord?
        public var restartCount: Int64?
        public var scenes: [Scene]?
        public var steps: [LaunchStep]?
        public var launchScreen: LaunchScreen?
        /// The names of the open background tasks, and the time that is left for them.
        public var backgroundTasks: [String]?
        public var backgroundRemainingUSec: Int64?
        /// Whether the threads that a paused instance has besides the paused one are frozen until
        /// its launch; nil if it has none.
        public var areThreadsFrozen: Bool?
        /// How far the instance was prewarmed; nil if it was not.
        public var depth: Word<PrewarmDepth>?

        public init(
            instance: UInt64, app: String, state: ExecutionState, sinceTimestampUSec: Int64
        ) {
            self.instance = instance
            self.app = app
            self.state = .known(state)
            self.sinceTimestampUSec = sinceTimestampUSec
        }
    }

    /// What `List` returns for an app.
    public struct AppSummary: Hashable, Sendable {
        public var identifier: String
        public var name: String?
        /// The file that the app executes.
        public var program: String?
        public var isEligible: Bool
        public var prewarmedCount: Int
        public var prewarmTarget: Int
        public var runningCount: Int
        public var state: Word<ExecutionState>
        /// Nil if the app comes only from a desktop entry.
        public var manifestFile: String?
        public var desktop: DesktopFacts?
        /// Why the app is not installed, if it was refused or masked.
        public var refusal: Note?
        /// How far the app is prewarmed; nil if it is not, or if it pauses by itself.
        public var depth: Word<PrewarmDepth>?
        /// What a launch from the pool saves: by how much its launches were shorter than cold ones.
        /// Until both were measured, the time that preparing its latest instance took.
        public var savedUSec: Int64?
        /// Whether `savedUSec` is that preparing time.
        public var isSavingEstimated = false
        /// The file of the profile that chooses the depth; nil if none does.
        public var profile: String?

        public init(
            identifier: String, name: String? = nil, isEligible: Bool = true,
            prewarmedCount: Int = 0, prewarmTarget: Int = 0, runningCount: Int = 0,
            state: ExecutionState = .notRunning
        ) {
            self.identifier = identifier
            self.name = name
            self.isEligible = isEligible
            self.prewarmedCount = prewarmedCount
            self.prewarmTarget = prewarmTarget
            self.runningCount = runningCount
            self.state = .known(state)
        }
    }

    /// A scene of an instance.
    public struct Scene: Hashable, Sendable {
        public var session: String
        public var activation: Word<ActivationState>
        public init(session: String, activation: ActivationState) {
            self.session = session
            self.activation = .known(activation)
        }
    }

    /// A step of a launch, and its time since the request, which is negative if the step was taken
    /// while the app was prewarmed.
    public struct LaunchStep: Hashable, Sendable {
        public var step: String
        public var elapsedUSec: Int64
        public init(step: String, elapsedUSec: Int64) {
            self.step = step
            self.elapsedUSec = elapsedUSec
        }
    }
}

extension Control.ExitRecord: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("reason", reason)
        writer.member("status", ifPresent: status)
        writer.member("signal", ifPresent: signal)
        writer.member("coreDumped", coreDumped)
        writer.member("lastState", ifPresent: lastState)
        writer.member("timestampUSec", timestampUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(reason: .unknown)
        for member in object.members {
            switch member.name {
            case "reason": reason = try member.word()
            case "status": status = try member.optionalInteger()
            case "signal": signal = try member.optionalInteger()
            case "coreDumped": coreDumped = try member.bool()
            case "lastState": lastState = try member.optionalWord()
            case "timestampUSec": timestampUSec = try member.integer()
            case _: break
            }
        }
    }

    init?(ifPresent member: JSONObject.Member) throws(ServiceError) {
        if member.value == .null { return nil }
        try self.init(try member.object())
    }
}

extension Control.InstanceStatus: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("instance", instance)
        writer.member("app", app)
        writer.member("state", state)
        writer.member("sinceTimestampUSec", sinceTimestampUSec)
        writer.member("processId", ifPresent: processId)
        writer.member("launchIdentifier", ifPresent: launchIdentifier)
        writer.member("kind", ifPresent: kind)
        writer.member("coldReason", ifPresent: coldReason)
        writer.member("anewReason", ifPresent: anewReason)
        writer.member("launchElapsedUSec", ifPresent: launchElapsedUSec)
        writer.member("attached", isAttached)
        writer.member("byteCount", ifPresent: byteCount)
        writer.member("exit", ifPresent: exit)
        writer.member("restartCount", ifPresent: restartCount)
        if let scenes { writer.member("scenes", objects: scenes) }
        if let steps { writer.member("steps", objects: steps) }
        writer.member("launchScreen", ifPresent: launchScreen)
        writer.member("backgroundTasks", ifPresent: backgroundTasks)
        writer.member("backgroundRemainingUSec", ifPresent: backgroundRemainingUSec)
        if let areThreadsFrozen { writer.member("threadsFrozen", areThreadsFrozen) }
        writer.member("depth", ifPresent: depth)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(instance: 0, app: "", state: .notRunning, sinceTimestampUSec: 0)
        for member in object.members {
            switch member.name {
            case "instance": instance = try member.integer()
            case "app": app = try member.text()
            case "state": state = try member.word()
            case "sinceTimestampUSec": sinceTimestampUSec = try member.integer()
            case "processId": processId = try member.optionalInteger()
            case "launchIdentifier": launchIdentifier = try member.optionalText()
            case "kind": kind = try member.optionalWord()
            case "coldReason": coldReason = try member.optionalWord()
            case "anewReason": anewReason = try member.optionalWord()
            case "launchElapsedUSec": launchElapsedUSec = try member.optionalInteger()
            case "attached": isAttached = try member.bool()
            case "byteCount": byteCount = try member.optionalInteger()
            case "exit": exit = try Control.ExitRecord(ifPresent: member)
            case "restartCount": restartCount = try member.optionalInteger()
            case "scenes" where member.value != .null:
                scenes = try member.objects(Control.Scene.init)
            case "backgroundTasks": backgroundTasks = try member.optionalTexts()
            case "backgroundRemainingUSec":
                backgroundRemainingUSec = try member.optionalInteger()
            case "threadsFrozen" where member.value != .null: areThreadsFrozen = try member.bool()
            case "depth": depth = try member.optionalWord()
            case "steps" where member.value != .null:
                steps = try member.objects(Control.LaunchStep.init)
            case "launchScreen": launchScreen = try Control.LaunchScreen(ifPresent: member)
            case _: break
            }
        }
    }
}

extension Control.AppSummary: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("identifier", identifier)
        writer.member("name", ifPresent: name)
        writer.member("program", ifPresent: program)
        writer.member("eligible", isEligible)
        writer.member("prewarmedCount", prewarmedCount)
        writer.member("prewarmTarget", prewarmTarget)
        writer.member("runningCount", runningCount)
        writer.member("state", state)
        writer.member("manifestFile", ifPresent: manifestFile)
        writer.member("desktop", ifPresent: desktop)
        writer.member("refusal", ifPresent: refusal)
        writer.member("depth", ifPresent: depth)
        writer.member("savedUSec", ifPresent: savedUSec)
        if isSavingEstimated { writer.member("savingEstimated", true) }
        writer.member("profile", ifPresent: profile)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(identifier: "")
        for member in object.members {
            switch member.name {
            case "identifier": identifier = try member.text()
            case "name": name = try member.optionalText()
            case "program": program = try member.optionalText()
            case "eligible": isEligible = try member.bool()
            case "prewarmedCount": prewarmedCount = try member.integer()
            case "prewarmTarget": prewarmTarget = try member.integer()
            case "runningCount": runningCount = try member.integer()
            case "state": state = try member.word()
            case "manifestFile": manifestFile = try member.optionalText()
            case "desktop" where member.value != .null:
                desktop = try Control.DesktopFacts(try member.object())
            case "refusal" where member.value != .null:
                refusal = try Control.Note(try member.object())
            case "depth": depth = try member.optionalWord()
            case "savedUSec": savedUSec = try member.optionalInteger()
            case "savingEstimated": isSavingEstimated = try member.optionalBool()
            case "profile": profile = try member.optionalText()
            case _: break
            }
        }
    }
}

extension Control.Scene: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("session", session)
        writer.member("activation", activation)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(session: "", activation: .unattached)
        for member in object.members {
            switch member.name {
            case "session": session = try member.text()
            case "activation": activation = try member.word()
            case _: break
            }
        }
    }
}

extension Control.LaunchStep: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("step", step)
        writer.member("elapsedUSec", elapsedUSec)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(step: "", elapsedUSec: 0)
        for member in object.members {
            switch member.name {
            case "step": step = try member.text()
            case "elapsedUSec": elapsedUSec = try member.integer()
            case _: break
            }
        }
    }
}
