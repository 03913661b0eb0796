/// An error of a method: a fully qualified name and parameters.
public protocol CallError: Error, ParametersEncodable {
    var name: String { get }
}

/// The errors of `org.varlink.service`, which any method may return.
public enum ServiceError: CallError, Hashable, Sendable {
    case interfaceNotFound(String)
    case methodNotFound(String)
    case methodNotImplemented(String)
    /// The parameter of that name is unknown, missing, or has a wrong value.
    case invalidParameter(String)
    case permissionDenied
    /// The method must be called with `more`.
    case expectedMore

    private static let prefix = "org.varlink.service."

    public var name: String {
        switch self {
        case .interfaceNotFound: Self.prefix + "InterfaceNotFound"
        case .methodNotFound: Self.prefix + "MethodNotFound"
        case .methodNotImplemented: Self.prefix + "MethodNotImplemented"
        case .invalidParameter: Self.prefix + "InvalidParameter"
        case .permissionDenied: Self.prefix + "PermissionDenied"
        case .expectedMore: Self.prefix + "ExpectedMore"
        }
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .interfaceNotFound(let name): writer.member("interface", Self.cut(name))
        case .methodNotFound(let name), .methodNotImplemented(let name):
            writer.member("method", Self.cut(name))
        case .invalidParameter(let name): writer.member("parameter", Self.cut(name))
        case .permissionDenied, .expectedMore: break
        }
    }

    /// Shortens a name, because a client may send one as long as a whole message.
    private static func cut(_ name: String) -> String {
        name.utf8.count > 256 ? String(name.unicodeScalars.prefix(100)) + "…" : name
    }

    /// The error of a reply; nil if it is none of these.
    public init?(_ reply: Reply) {
        guard let error = reply.error, error.hasPrefix(Self.prefix) else { return nil }
        func text(_ name: String) -> String {
            if case .string(let text)? = reply.parameters[name] { text } else { "" }
        }
        switch error.dropFirst(Self.prefix.count) {
        case "InterfaceNotFound": self = .interfaceNotFound(text("interface"))
        case "MethodNotFound": self = .methodNotFound(text("method"))
        case "MethodNotImplemented": self = .methodNotImplemented(text("method"))
        case "InvalidParameter": self = .invalidParameter(text("parameter"))
        case "PermissionDenied": self = .permissionDenied
        case "ExpectedMore": self = .expectedMore
        case _: return nil
        }
    }
}
