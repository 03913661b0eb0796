/// An interface description: its text, and what the text says.
public struct Interface: Sendable {
    /// As it was written, comments included.
    public let text: String
    /// In reverse-DNS form, for example `org.varlink.service`.
    public let name: String
    public internal(set) var types: [String: InterfaceType] = [:]
    public internal(set) var methods: [String: Method] = [:]
    public internal(set) var errors: [String: [Field]] = [:]

    /// What a method takes and returns.
    public struct Method: Hashable, Sendable {
        public var input: [Field]
        public var output: [Field]
    }

    /// A member of a structure, or a parameter.
    public struct Field: Hashable, Sendable {
        public var name: String
        public var type: InterfaceType
    }

    init(text: String, name: String) {
        self.text = text
        self.name = name
    }

    /// How much of the language may be used.
    public enum Dialect: Sendable {
        /// What systemd's and Python's implementations both read: containers do not nest directly,
        /// an optional is never inside a container, and no named type is empty.
        case portable
        /// The language as it is defined.
        case whole
    }

    /// Reads a description.
    public init(
        parsing text: String, dialect: Dialect = .portable
    ) throws(InterfaceSyntaxError) {
        var parser = InterfaceParser(text: text, dialect: dialect)
        self = try parser.interface()
    }

    /// Reads a description that is part of the program: a mistake in it traps.
    public init(trusted text: String) {
        do throws(InterfaceSyntaxError) {
            try self.init(parsing: text)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// A type of the interface language.
public indirect enum InterfaceType: Hashable, Sendable {
    case bool
    case int
    case float
    case string
    case object
    case named(String)
    case structure([Interface.Field])
    case enumeration([String])
    case array(InterfaceType)
    /// Strings to values.
    case map(InterfaceType)
    /// May be null or absent.
    case optional(InterfaceType)
}

/// Why a text is not an interface description.
public struct InterfaceSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Both count from 1; the column in bytes.
    public let line: Int
    public let column: Int
    public let message: String
    public var description: String { "\(line):\(column): \(message)" }
}
