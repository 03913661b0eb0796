public import Varlink

extension Control {
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
