public import Varlink

extension Control {
    /// Whether the daemon keeps an app running.
    public struct SupervisionStatus: Hashable, Sendable {
        /// `Restart=` in its manifest.
        public var restart: String
        /// How many times the daemon has restarted it since a client last launched it.
        public var restartCount: Int64
        /// The time from now to its next start by the daemon.
        public var nextStartUSec: Int64?
        /// Why the daemon no longer starts it.
        public var failed: Note?
        /// The user force-quit the app, so only the user can start it.
        public var forceQuit: Note?

        public init(restart: String, restartCount: Int64 = 0) {
            self.restart = restart
            self.restartCount = restartCount
        }
    }
}

extension Control.SupervisionStatus: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("restart", restart)
        writer.member("restartCount", restartCount)
        writer.member("nextStartUSec", ifPresent: nextStartUSec)
        writer.member("failed", ifPresent: failed)
        writer.member("forceQuit", ifPresent: forceQuit)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init(restart: "")
        for member in object.members {
            switch member.name {
            case "restart": restart = try member.text()
            case "restartCount": restartCount = try member.integer()
            case "nextStartUSec": nextStartUSec = try member.optionalInteger()
            case "failed":
                failed = member.value == .null ? nil : try Control.Note(try member.object())
            case "forceQuit":
                forceQuit = member.value == .null ? nil : try Control.Note(try member.object())
            case _: break
            }
        }
    }
}
