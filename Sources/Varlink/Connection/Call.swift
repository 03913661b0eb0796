/// A method call, as in its message.
public struct Call: Hashable, Sendable {
    /// The method's fully qualified name, for example `org.varlink.service.GetInfo`.
    public var method: String
    public var parameters: JSONObject
    /// Whether the client accepts several replies.
    public var wantsMore: Bool
    /// Whether the client wants no reply, not even an error.
    public var isOneway: Bool
    /// Whether the client wants to speak another protocol after the reply. No method of ours has
    /// one, so the connection goes on as it is.
    public var wantsUpgrade: Bool
    /// How many descriptors came with the call. They are the next ones in the order of arrival.
    /// Parameters refer to them by index, from 0.
    public var descriptorCount: Int

    public init(
        method: String, parameters: JSONObject = [:], wantsMore: Bool = false,
        isOneway: Bool = false, wantsUpgrade: Bool = false, descriptorCount: Int = 0
    ) {
        self.method = method
        self.parameters = parameters
        self.wantsMore = wantsMore
        self.isOneway = isOneway
        self.wantsUpgrade = wantsUpgrade
        self.descriptorCount = descriptorCount
    }

    /// The part of the method's name before its last dot.
    public var interfaceName: Substring {
        method[..<(method.utf8.lastIndex(of: UInt8(ascii: ".")) ?? method.endIndex)]
    }

    init(_ bytes: Span<UInt8>, descriptorCount: Int, limits: Limits) throws(ProtocolViolation) {
        var method: String?
        self.init(method: "", descriptorCount: descriptorCount)
        for member in try ProtocolViolation.object(bytes, limits: limits).members {
            switch (member.name, member.value) {
            case ("method", .string(let value)): method = value
            case ("parameters", .object(let value)): parameters = value
            case ("more", .bool(let value)): wantsMore = value
            case ("oneway", .bool(let value)): isOneway = value
            case ("upgrade", .bool(let value)): wantsUpgrade = value
            case ("parameters", .null), ("more", .null), ("oneway", .null), ("upgrade", .null):
                break
            case (let name, _):
                // Extensions have reverse-DNS names and may be ignored. Any other unknown member is
                // an error.
                guard name.utf8.contains(UInt8(ascii: ".")) else {
                    throw .unexpectedMember(name)
                }
            }
        }
        guard let method else { throw .missingMember("method") }
        guard !(isOneway && (wantsMore || wantsUpgrade)), !(wantsMore && wantsUpgrade) else {
            throw .contradictoryFlags
        }
        self.method = method
    }

    /// Writes the message without its final NUL.
    public func encode(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("method", method)
        if !parameters.isEmpty {
            writer.name("parameters")
            writer.value(parameters)
        }
        if wantsMore { writer.member("more", true) }
        if isOneway { writer.member("oneway", true) }
        if wantsUpgrade { writer.member("upgrade", true) }
        writer.endObject()
    }
}

/// A reply, as in its message.
public struct Reply: Hashable, Sendable {
    /// The error's fully qualified name, or nil for success.
    public var error: String?
    public var parameters: JSONObject
    /// Whether more replies to the same call follow.
    public var continues: Bool
    /// How many descriptors came with the reply, as for a `Call`.
    public var descriptorCount: Int

    public init(
        error: String? = nil, parameters: JSONObject = [:], continues: Bool = false,
        descriptorCount: Int = 0
    ) {
        self.error = error
        self.parameters = parameters
        self.continues = continues
        self.descriptorCount = descriptorCount
    }

    init(_ bytes: Span<UInt8>, descriptorCount: Int, limits: Limits) throws(ProtocolViolation) {
        self.init(descriptorCount: descriptorCount)
        for member in try ProtocolViolation.object(bytes, limits: limits).members {
            switch (member.name, member.value) {
            case ("error", .string(let value)): error = value
            case ("parameters", .object(let value)): parameters = value
            case ("continues", .bool(let value)): continues = value
            case ("parameters", .null), ("continues", .null), ("error", .null): break
            case (let name, _): throw .unexpectedMember(name)
            }
        }
        guard error == nil || !continues else { throw .contradictoryFlags }
    }
}

/// A type that is written as the `parameters` of a call, a reply or an error, directly into the
/// output.
public protocol ParametersEncodable {
    /// Writes the members. The caller begins and ends the object.
    func encodeMembers(to writer: inout JSONWriter)
}

extension JSONObject: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) { writer.members(of: self) }
}

extension JSONWriter {
    /// Writes a name and an array of objects.
    package mutating func member(_ name: String, objects: [some ParametersEncodable]) {
        self.name(name)
        beginArray()
        for object in objects {
            beginObject()
            object.encodeMembers(to: &self)
            endObject()
        }
        endArray()
    }
}
