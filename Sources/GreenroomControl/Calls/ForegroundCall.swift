internal import Varlink

extension Control {
    /// What has the foreground of a shell's display.
    public enum Front: Hashable, Sendable {
        /// An instance of the app; it is not known which one.
        case app(String)
        case instance(UInt64)
        /// The instance that the process belongs to.
        case process(Int32)
    }

    /// What the daemon knows about the reported app.
    public struct Foreground: Hashable, Sendable {
        /// Nil if none of the user's apps has the foreground.
        public var app: String?
        /// Nil if only the app was named.
        public var instance: UInt64?

        public init(app: String? = nil, instance: UInt64? = nil) {
            self.app = app
            self.instance = instance
        }
    }
}

extension Control.Front {
    /// Returns nil if the call names none, which means that no app has the foreground.
    static func named(in call: Call) throws(ServiceError) -> Self? {
        var front: Self?
        for member in call.parameters.members where member.value != .null {
            // At most one of them may be given.
            guard front == nil else { throw member.invalid }
            switch member.name {
            case "app": front = .app(try member.text())
            case "instance": front = .instance(try member.integer())
            case "processId":
                let process: Int32 = try member.integer()
                guard process > 0 else { throw member.invalid }
                front = .process(process)
            case _: throw member.invalid
            }
        }
        return front
    }

    func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .app(let app): writer.member("app", app)
        case .instance(let instance): writer.member("instance", instance)
        case .process(let process): writer.member("processId", process)
        }
    }
}

extension Control.Foreground {
    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", ifPresent: app)
        writer.member("instance", ifPresent: instance)
    }

    init(_ parameters: JSONObject) throws(ServiceError) {
        self.init()
        for member in parameters.members {
            switch member.name {
            case "app": app = try member.optionalText()
            case "instance": instance = try member.optionalInteger()
            case _: break
            }
        }
    }
}
