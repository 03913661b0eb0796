public import Varlink

extension Control {
    /// An event, for clients that watch.
    public struct Event: Hashable, Sendable {
        /// Increases by one with each event, even across a restart of the daemon. `eventsLost`
        /// stands for the events in a gap.
        public var sequence: UInt64
        /// CLOCK_REALTIME in microseconds.
        public var timestampUSec: Int64
        public var kind: Word<EventKind>
        public var app: String?
        public var instance: UInt64?
        /// `stateChanged`
        public var from: Word<ExecutionState>?
        public var to: Word<ExecutionState>?
        /// `launched`
        public var launchIdentifier: String?
        public var launchKind: Word<LaunchKind>?
        public var coldReason: Word<ColdReason>?
        public var anewReason: Word<AnewReason>?
        /// `launched`: who asked; nil if the daemon launched the app by itself.
        public var caller: Caller?
        /// `launched`, `launchStep`, `launchScreenShown`, `launchScreenDropped`, and `stateChanged`
        /// from `launching`, when the app is ready: the time since the request.
        public var elapsedUSec: Int64?
        /// `exited`
        public var exit: ExitRecord?
        /// `exited`: how long it ran after its launch.
        public var ranUSec: Int64?
        /// `reclaimed`
        public var byteCount: UInt64?
        /// `prewarmFailed`, `crashLooped`
        public var retryAfterUSec: Int64?
        /// The event in words, for humans.
        public var text: String
        /// `sceneChanged`, `slowStep`, `missedStep`, `stateKept`, `stateRefused`, `stateDeleted`; 0
        /// is the app's own state
        public var session: String?
        public var activation: Word<ActivationState>?
        /// `slowStep`, `missedStep`, `launchStep`
        public var step: String?
        /// `reclaimed`, `pressureChanged`
        public var pressure: MemoryPressure?
        /// `launchScreenShown`, `launchScreenDropped` (`step` says why)
        public var launchScreen: LaunchScreen?
        /// `taskBegan`, `taskEnded`: the task's identifier.
        public var task: String?
        public var outcome: Word<TaskOutcome>?

        public init(
            sequence: UInt64, timestampUSec: Int64, kind: EventKind, app: String? = nil,
            instance: UInt64? = nil, text: String = ""
        ) {
            self.sequence = sequence
            self.timestampUSec = timestampUSec
            self.kind = .known(kind)
            self.app = app
            self.instance = instance
            self.text = text
        }
    }
}

extension Control.Event: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("sequence", sequence)
        writer.member("timestampUSec", timestampUSec)
        writer.member("kind", kind)
        writer.member("app", ifPresent: app)
        writer.member("instance", ifPresent: instance)
        writer.member("from", ifPresent: from)
        writer.member("to", ifPresent: to)
        writer.member("launchIdentifier", ifPresent: launchIdentifier)
        writer.member("launchKind", ifPresent: launchKind)
        writer.member("coldReason", ifPresent: coldReason)
        writer.member("anewReason", ifPresent: anewReason)
        writer.member("elapsedUSec", ifPresent: elapsedUSec)
        writer.member("exit", ifPresent: exit)
        writer.member("caller", ifPresent: caller)
        writer.member("ranUSec", ifPresent: ranUSec)
        writer.member("byteCount", ifPresent: byteCount)
        writer.member("retryAfterUSec", ifPresent: retryAfterUSec)
        writer.member("text", text)
        writer.member("session", ifPresent: session)
        writer.member("activation", ifPresent: activation)
        writer.member("step", ifPresent: step)
        writer.member("pressure", ifPresent: pressure)
        writer.member("launchScreen", ifPresent: launchScreen)
        writer.member("task", ifPresent: task)
        writer.member("outcome", ifPresent: outcome)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(sequence: 0, timestampUSec: 0, kind: .stateChanged)
        for member in object.members {
            switch member.name {
            case "sequence": sequence = try member.integer()
            case "timestampUSec": timestampUSec = try member.integer()
            case "kind": kind = try member.word()
            case "app": app = try member.optionalText()
            case "instance": instance = try member.optionalInteger()
            case "from": from = try member.optionalWord()
            case "to": to = try member.optionalWord()
            case "launchIdentifier": launchIdentifier = try member.optionalText()
            case "launchKind": launchKind = try member.optionalWord()
            case "coldReason": coldReason = try member.optionalWord()
            case "anewReason": anewReason = try member.optionalWord()
            case "elapsedUSec": elapsedUSec = try member.optionalInteger()
            case "exit": exit = try Control.ExitRecord(ifPresent: member)
            case "caller": caller = try Control.Caller(ifPresent: member)
            case "ranUSec": ranUSec = try member.optionalInteger()
            case "byteCount": byteCount = try member.optionalInteger()
            case "retryAfterUSec": retryAfterUSec = try member.optionalInteger()
            case "text": text = try member.text()
            case "session": session = try member.optionalText()
            case "activation": activation = try member.optionalWord()
            case "step": step = try member.optionalText()
            case "pressure": pressure = try member.optionalWord()
            case "launchScreen": launchScreen = try Control.LaunchScreen(ifPresent: member)
            case "task": task = try member.optionalText()
            case "outcome": outcome = try member.optionalWord()
            case _: break
            }
        }
    }
}
