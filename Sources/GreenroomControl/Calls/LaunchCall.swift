public import Varlink

extension Control {
    /// A variable to add to an app's environment.
    public struct EnvironmentVariable: Hashable, Sendable {
        /// A name is not empty and contains no `=`.
        public var name: ByteString
        public var value: ByteString
        public init(name: ByteString, value: ByteString) {
            self.name = name
            self.value = value
        }

        /// Nil if it is not `NAME=VALUE`.
        public init?(assignment: ByteString) {
            switch assignment {
            case .text(let text):
                guard let end = text.utf8.firstIndex(of: Self.equals), end > text.startIndex else {
                    return nil
                }
                name = .text(String(text[..<end]))
                value = .text(String(text[text.utf8.index(after: end)...]))
            case .bytes(let bytes):
                guard let end = bytes.firstIndex(of: Self.equals), end > 0 else { return nil }
                name = ByteString(bytes: bytes[..<end])
                value = ByteString(bytes: bytes[(end + 1)...])
            }
        }

        /// `NAME=VALUE`, as in environ(7).
        public var assignment: ByteString {
            if case .text(let name) = name, case .text(let value) = value {
                return .text("\(name)=\(value)")
            }
            return ByteString(bytes: name.bytes + [Self.equals] + value.bytes)
        }

        private static let equals = UInt8(ascii: "=")
    }

    /// The parameters of `Launch`. Descriptors are given as indexes into the call's descriptors,
    /// and are less than its `descriptorCount`.
    public struct LaunchCall: Hashable, Sendable {
        public var app: String
        /// The arguments that follow those in the manifest.
        public var arguments: [ByteString] = []
        public var environment: [EnvironmentVariable] = []
        /// The whole environment instead of the login session's, as `NAME=VALUE`.
        public var callerEnvironment: [ByteString]?
        public var workingDirectory: String?
        /// The mask as in umask(2), from 0 to 0o777.
        public var umask: UInt32?
        public var isBackground = false
        public var isAttached = false
        /// At most 64 bytes of printable ASCII.
        public var launchIdentifier: String?
        public var standardInput: Int?
        public var standardOutput: Int?
        public var standardError: Int?
        public var workingDirectoryDescriptor: Int?
        /// At most ``otherDescriptorLimit`` descriptors, with different numbers.
        public var otherDescriptors: [OtherDescriptor] = []
        /// The numbers, out of 0, 1 and 2, that are closed in the app instead of being /dev/null.
        public var closedDescriptors: [Int] = []
        public var callerState: CallerState?
        /// Whether the first terminal among the standard descriptors becomes the controlling
        /// terminal.
        public var takesTerminal = false
        /// An action of its desktop entry to start instead of the app itself.
        public var action: String?
        /// With ``sizeClass``, chooses the launch screen.
        public var orientation: Orientation?
        public var sizeClass: SizeClass?

        public init(app: String) { self.app = app }

        /// The longest launch identifier in bytes. The daemon keeps it in a record of fixed size.
        static let launchIdentifierByteLimit = 64
        /// At most this many descriptors in addition to the standard ones: the spawner's limit for
        /// one process, minus the standard ones, the working directory and the sockets in an app's
        /// manifest.
        public static let otherDescriptorLimit = 40
    }
}

extension Control.LaunchCall: ParametersEncodable {
    init(_ call: Call) throws(ServiceError) {
        self.init(app: "")
        for member in call.parameters.members {
            switch member.name {
            case "app": app = try member.text()
            case "arguments":
                guard let texts = try member.optionalTexts() else { break }
                guard arguments.isEmpty else { throw member.invalid }
                arguments = texts.map(ByteString.text)
            case "argumentsBase64":
                guard let strings = try Self.strings(member) else { break }
                guard arguments.isEmpty else { throw member.invalid }
                arguments = strings
            case "environment": environment += try Self.variables(member)
            case "environmentBase64":
                for assignment in try Self.strings(member) ?? [] {
                    guard let variable = Control.EnvironmentVariable(assignment: assignment) else {
                        throw member.invalid
                    }
                    environment.append(variable)
                }
            case "callerEnvironment":
                guard let texts = try member.optionalTexts() else { break }
                guard callerEnvironment == nil else { throw member.invalid }
                callerEnvironment = texts.map(ByteString.text)
            case "callerEnvironmentBase64":
                guard let strings = try Self.strings(member) else { break }
                guard callerEnvironment == nil else { throw member.invalid }
                callerEnvironment = strings
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
            case "otherDescriptors": otherDescriptors = try Self.others(member, call)
            case "closedDescriptors":
                closedDescriptors = try member.optionalIntegers() ?? []
                guard closedDescriptors.count <= 3, closedDescriptors.allSatisfy({ 0...2 ~= $0 })
                else { throw member.invalid }
            case "callerState":
                if member.value != .null { callerState = try .init(member.object()) }
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

    private static func others(
        _ member: JSONObject.Member, _ call: Call
    ) throws(ServiceError) -> [Control.OtherDescriptor] {
        if member.value == .null { return [] }
        let others = try member.objects { object throws(ServiceError) in
            guard case .integer(let number)? = object["number"],
                case .integer(let index)? = object["descriptor"],
                3...numberLimit ~= number, 0..<Int64(call.descriptorCount) ~= index
            else { throw member.invalid }
            return Control.OtherDescriptor(number: Int32(number), index: Int(index))
        }
        guard others.count <= otherDescriptorLimit,
            Set(others.map { $0.number }).count == others.count
        else { throw member.invalid }
        return others
    }

    /// The highest number that the kernel allows, unless fs.nr_open was raised.
    private static let numberLimit: Int64 = (1 << 20) - 1

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
            variables.append(.init(name: .text(name), value: .text(value)))
        }
        return variables
    }

    /// Decodes strings in base64. None may contain a NUL, because each may become a C string.
    private static func strings(
        _ member: JSONObject.Member
    ) throws(ServiceError) -> [ByteString]? {
        guard let texts = try member.optionalTexts() else { return nil }
        var strings: [ByteString] = []
        strings.reserveCapacity(texts.count)
        for text in texts {
            guard let bytes = Base64.decode(text), !bytes.contains(0) else { throw member.invalid }
            strings.append(ByteString(bytes: bytes))
        }
        return strings
    }

    /// Writes the strings as text, or all of them in base64 if one is not UTF-8, so that they keep
    /// their order.
    private static func write(
        _ strings: [ByteString], _ name: String, to writer: inout JSONWriter
    ) {
        let isText = strings.allSatisfy { $0.text != nil }
        writer.name(isText ? name : name + "Base64")
        writer.beginArray()
        for string in strings {
            switch string {
            case .text(let text) where isText: writer.value(text)
            case .text, .bytes: writer.value(Base64.encode(string.bytes))
            }
        }
        writer.endArray()
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("app", app)
        if !arguments.isEmpty { Self.write(arguments, "arguments", to: &writer) }
        writeEnvironment(to: &writer)
        if let callerEnvironment {
            Self.write(callerEnvironment, "callerEnvironment", to: &writer)
        }
        writer.member("workingDirectory", ifPresent: workingDirectory)
        writer.member("umask", ifPresent: umask)
        if isBackground { writer.member("background", true) }
        if isAttached { writer.member("attached", true) }
        writer.member("launchIdentifier", ifPresent: launchIdentifier)
        writer.member("standardInputDescriptor", ifPresent: standardInput)
        writer.member("standardOutputDescriptor", ifPresent: standardOutput)
        writer.member("standardErrorDescriptor", ifPresent: standardError)
        writer.member("workingDirectoryDescriptor", ifPresent: workingDirectoryDescriptor)
        if !otherDescriptors.isEmpty {
            writer.name("otherDescriptors")
            writer.beginArray()
            for other in otherDescriptors {
                writer.beginObject()
                writer.member("number", other.number)
                writer.member("descriptor", other.index)
                writer.endObject()
            }
            writer.endArray()
        }
        if !closedDescriptors.isEmpty {
            writer.name("closedDescriptors")
            writer.beginArray()
            for number in closedDescriptors { writer.value(Int64(number)) }
            writer.endArray()
        }
        writer.member("callerState", ifPresent: callerState)
        if takesTerminal { writer.member("terminal", true) }
        writer.member("action", ifPresent: action)
        writer.member("orientation", ifPresent: orientation?.rawValue)
        writer.member("sizeClass", ifPresent: sizeClass?.rawValue)
    }

    private func writeEnvironment(to writer: inout JSONWriter) {
        if environment.isEmpty { return }
        guard environment.allSatisfy({ $0.name.text != nil && $0.value.text != nil }) else {
            return Self.write(environment.map { $0.assignment }, "environment", to: &writer)
        }
        writer.name("environment")
        writer.beginObject()
        for variable in environment { writer.member(variable.name.shown, variable.value.shown) }
        writer.endObject()
    }
}
