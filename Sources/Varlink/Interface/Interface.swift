/// An interface description: its text, and its content.
public struct Interface: Sendable {
    /// The text of the description, including comments.
    public let text: String
    /// In reverse-DNS form, for example `org.varlink.service`.
    public let name: String
    public internal(set) var types: [String: InterfaceType] = [:]
    public internal(set) var methods: [String: Method] = [:]
    public internal(set) var errors: [String: [Field]] = [:]

    /// The parameters and results of a method.
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

    /// The part of the language that a description may use.
    public enum Dialect: Sendable {
        /// The part that both systemd's and Python's implementations can read: no container
        /// directly in a container, no optional in a container, and no empty named type.
        case portable
        /// The whole language.
        case whole
    }

    /// Reads a description.
    public init(
        parsing text: String, dialect: Dialect = .portable
    ) throws(InterfaceSyntaxError) {
        var parser = InterfaceParser(text: text, dialect: dialect)
        self = try parser.interface()
    }

    /// Reads a description that is part of the program. Traps if it has an error.
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
    /// A map from strings to values.
    case map(InterfaceType)
    /// May be null or absent.
    case optional(InterfaceType)
}

/// Why a text is not an interface description.
public struct InterfaceSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Line and column are counted from 1; the column is counted in bytes.
    public let line: Int
    public let column: Int
    public let message: String
    public var description: String { "\(line):\(column): \(message)" }
}
