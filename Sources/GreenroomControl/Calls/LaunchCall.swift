public import Varlink

extension Control {
    /// One addition to an app's environment.
    public struct EnvironmentVariable: Hashable, Sendable {
        /// Not empty, without `=`.
        public var name: String
        public var value: String
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// As in environ(7).
        public var assignment: String { "\(name)=\(value)" }
    }

    /// The parameters of `Launch`. Descriptors are indexes among those that came with the call,
    /// and lie within its `descriptorCount`.
    public struct LaunchCall: Hashable, Sendable {
        public var app: String
        /// Behind those of the manifest.
        public var arguments: [String] = []
        public var environment: [EnvironmentVariable] = []
        /// The whole environment instead of the session's, as `NAME=VALUE`.
        public var callerEnvironment: [String]?
        public var workingDirectory: String?
        /// As in umask(2), 0 to 0o777.
        public var umask: UInt32?
        public var isBackground = false
        public var isAttached = false
        /// At most 64 bytes of printable ASCII.
        public var launchIdentifier: String?
        public var standardInput: Int?
        public var standardOutput: Int?
        public var standardError: Int?
        public var workingDirectoryDescriptor: Int?
        /// The first terminal among its standard descriptors becomes its controlling terminal.
        public var takesTerminal = false
        /// One of the actions of its desktop entry instead of the app itself.
        public var action: String?
        /// Which launch screen is meant.
        public var orientation: Orientation?
        public var sizeClass: SizeClass?

        public init(app: String) { self.app = app }

        /// Longest launch identifier, in bytes: the daemon keeps it in a record of fixed size.
        public static let launchIdentifierByteLimit = 64
    }
}

extension Control.LaunchCall: ParametersEncodable {
    init(_ call: Call) throws(ServiceError) {
        self.init(app: "")
        for member in call.parameters.members {
            switch member.name {
            case "app": app = try member.text()
            case "arguments": arguments = try member.optionalTexts() ?? []
            case "environment": environment = try Self.variables(member)
            case "callerEnvironment": callerEnvironment = try member.optionalTexts()
            case "workingDirectory": workingDirectory = try member.optionalText()
            case "umask":
                umask = try member.optionalInteger()
                guard umask ?? 0 <= 0o777 else { throw member.invalid }
            case "background": isBackground = try member.optionalBool()
            case "attached": isAttached = try member.optionalBool()
            case "launchIdentifier": launchIdentifier = try Self.identifier(member)
            case "action": action = try member.optionalText()
            case "orientation": orientation = try member.optionalWord()
            case "sizeClass": sizeClass = try member.optionalWord()
            case "standardInputDescriptor": standardInput = try Self.index(member, call)
            case "standardOutputDescriptor": standardOutput = try Self.index(member, call)
            case "standardErrorDescriptor": standardError = try Self.index(member, call)
            case "workingDirectoryDescriptor":
                workingDirectoryDescriptor = try Self.index(member, call)
            case "terminal": takesTerminal = try member.optionalBool()
            case _: throw member.invalid
            }
        }
        guard !app.isEmpty else { throw .invalidParameter("app") }
    }

    private static func index(
        _ member: JSONObject.Member, _ call: Call
    ) throws(ServiceError) -> Int? {
        guard let index: Int = try member.optionalInteger() else { return nil }
        guard 0..<call.descriptorCount ~= index else { throw member.invalid }
        return index
    }

    private static func identifier(_ member: JSONObject.Member) throws(ServiceError) -> String? {
        guard let text = try member.optionalText() else { return nil }
        guard 1...launchIdentifierByteLimit ~= text.utf8.count,
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { throw member.invalid }
        return text
    }

    private static func variables(
        _ member: JSONObject.Member
    ) throws(ServiceError) -> [Control.EnvironmentVariable] {
        if member.value == .null { return [] }
        var variables: [Control.EnvironmentVariable] = []
        for variable in try member.object().members {
            let name = variable.name
            guard case .string(let value) = variable.value, !value.utf8.contains(0),
                !name.isEmpty, !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "=") })
            else { throw member.invalid }
            variables.append(.init(name: name, value: value))
        }
        return variables
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        if !arguments.isEmpty { writer.member("arguments", arguments) }
        if !environment.isEmpty {
            writer.name("environment")
            writer.beginObject()
            for variable in environment { writer.member(variable.name, variable.value) }
            writer.endObject()
        }
        writer.member("callerEnvironment", ifPresent: callerEnvironment)
        writer.member("workingDirectory", ifPresent: workingDirectory)
        writer.member("umask", ifPresent: umask)
        if isBackground { writer.member("background", true) }
        if isAttached { writer.member("attached", true) }
        writer.member("launchIdentifier", ifPresent: launchIdentifier)
        writer.member("standardInputDescriptor", ifPresent: standardInput)
        writer.member("standardOutputDescriptor", ifPresent: standardOutput)
        writer.member("standardErrorDescriptor", ifPresent: standardError)
        writer.member("workingDirectoryDescriptor", ifPresent: workingDirectoryDescriptor)
        if takesTerminal { writer.member("terminal", true) }
        writer.member("action", ifPresent: action)
        writer.member("orientation", ifPresent: orientation?.rawValue)
        writer.member("sizeClass", ifPresent: sizeClass?.rawValue)
    }
}
