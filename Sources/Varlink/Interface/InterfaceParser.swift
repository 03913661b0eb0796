/// Reads the interface language (<https://varlink.org/Interface-Definition>).
struct InterfaceParser {
    /// How deeply structures and containers may be nested, because the parser recurses.
    static let depthLimit = 16

    private let text: String
    private let dialect: Interface.Dialect
    private let bytes: [UInt8]
    private var position = 0
    /// Every name that a type expression has used, and its position.
    private var references: [(name: String, position: Int)] = []

    init(text: String, dialect: Interface.Dialect) {
        self.text = text
        self.dialect = dialect
        bytes = Array(text.utf8)
    }

    mutating func interface() throws(InterfaceSyntaxError) -> Interface {
        skipSpace()
        try keyword("interface")
        var interface = Interface(text: text, name: try interfaceName())
        var names: Set<String> = []
        while true {
            skipSpace()
            guard position < bytes.count else { break }
            let start = position
            let kind = try word("expected \"type\", \"method\" or \"error\"")
            skipSpace()
            let nameStart = position
            let name = try memberName()
            guard names.insert(name).inserted else {
                throw error("\(name) is declared twice", at: nameStart)
            }
            switch kind {
            case "type":
                skipSpace()
                let type = try aggregate(depth: 0)
                guard type != .structure([]) || dialect == .whole else {
                    throw error("systemd cannot read an empty type", at: nameStart)
                }
                interface.types[name] = type
            case "method":
                let input = try fields()
                skipSpace()
                guard take("-"), take(">") else { throw error("expected \"->\"") }
                interface.methods[name] = .init(input: input, output: try fields())
            case "error": interface.errors[name] = try fields()
            case _: throw error("expected \"type\", \"method\" or \"error\"", at: start)
            }
        }
        for reference in references where interface.types[reference.name] == nil {
            throw error("there is no type \(reference.name)", at: reference.position)
        }
        return interface
    }

    // MARK: Types

    private mutating func type(depth: Int, isElement: Bool = false) throws(InterfaceSyntaxError)
        -> InterfaceType
    {
        skipSpace()
        let start = position
        if take("?") {
            guard !isElement || dialect == .whole else {
                throw error("an element cannot be optional", at: start)
            }
            guard depth < Self.depthLimit else { throw error("nested too deeply") }
            let type = try type(depth: depth + 1)
            if case .optional = type { throw error("optional twice", at: start) }
            return .optional(type)
        }
        if take("[") {
            guard !isElement || dialect == .whole else {
                throw error("containers cannot nest directly", at: start)
            }
            guard depth < Self.depthLimit else { throw error("nested too deeply") }
            if take("]") { return .array(try type(depth: depth + 1, isElement: true)) }
            guard try word("expected \"]\" or \"string]\"") == "string", take("]") else {
                throw error("expected \"]\" or \"string]\"")
            }
            return .map(try type(depth: depth + 1, isElement: true))
        }
        if peek() == UInt8(ascii: "(") { return try aggregate(depth: depth) }
        let name = try word("expected a type")
        switch name {
        case "bool": return .bool
        case "int": return .int
        case "float": return .float
        case "string": return .string
        case "object": return .object
        case _:
            guard let first = name.utf8.first, 0x41...0x5A ~= first else {
                throw error("there is no type \(name)", at: start)
            }
            references.append((name, start))
            return .named(name)
        }
    }

    /// `(a: int, b: string)` or `(one, two)`.
    private mutating func aggregate(depth: Int) throws(InterfaceSyntaxError) -> InterfaceType {
        guard depth < Self.depthLimit else { throw error("nested too deeply") }
        guard take("(") else { throw error("expected \"(\"") }
        skipSpace()
        if take(")") { return .structure([]) }
        var fields: [Interface.Field] = []
        var values: [String] = []
        var names: Set<String> = []
        repeat {
            skipSpace()
            let start = position
            let name = try fieldName()
            guard names.insert(name).inserted else { throw error("\(name) twice", at: start) }
            skipSpace()
            if take(":") {
                fields.append(.init(name: name, type: try type(depth: depth + 1)))
            } else {
                values.append(name)
            }
            guard fields.isEmpty || values.isEmpty else {
                throw error("a value without a type among fields", at: start)
            }
            skipSpace()
        } while take(",")
        guard take(")") else { throw error("expected \",\" or \")\"") }
        return fields.isEmpty ? .enumeration(values) : .structure(fields)
    }

    private mutating func fields() throws(InterfaceSyntaxError) -> [Interface.Field] {
        skipSpace()
        let start = position
        guard case .structure(let fields) = try aggregate(depth: 0) else {
            throw error("expected fields with types", at: start)
        }
        return fields
    }

    // MARK: Words

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Skips white space and comments.
    private mutating func skipSpace() {
        while let byte = peek() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "#"):
                while let byte = peek(), byte != 0x0A { position += 1 }
            case _: return
            }
        }
    }

    private mutating func word(_ expectation: String) throws(InterfaceSyntaxError) -> String {
        let start = position
        while let byte = peek(), isAlphanumeric(byte) || byte == UInt8(ascii: "_") {
            position += 1
        }
        guard position > start else { throw error(expectation) }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func keyword(_ keyword: String) throws(InterfaceSyntaxError) {
        let start = position
        guard try word("expected \"\(keyword)\"") == keyword else {
            throw error("expected \"\(keyword)\"", at: start)
        }
    }

    /// The name of a type, a method or an error: `[A-Z][A-Za-z0-9]*`.
    private mutating func memberName() throws(InterfaceSyntaxError) -> String {
        let start = position
        let name = try word("expected a name")
        guard 0x41...0x5A ~= bytes[start], !name.utf8.contains(UInt8(ascii: "_")) else {
            throw error("a name here begins with a capital and has no underscore", at: start)
        }
        return name
    }

    /// The name of a field: `[A-Za-z](_?[A-Za-z0-9])*`.
    private mutating func fieldName() throws(InterfaceSyntaxError) -> String {
        let start = position
        let name = try word("expected a name")
        let last = name.utf8.last == UInt8(ascii: "_")
        guard isLetter(bytes[start]), !last, !name.contains("__") else {
            throw error("\(name) is not a name", at: start)
        }
        return name
    }

    private mutating func interfaceName() throws(InterfaceSyntaxError) -> String {
        skipSpace()
        let start = position
        while let byte = peek(), isAlphanumeric(byte) || byte == 0x2D || byte == 0x2E {
            position += 1
        }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            guard let first = part.first, let last = part.last else { return false }
            return isAlphanumeric(first) && isAlphanumeric(last)
        }
        guard parts.count > 1, isName, isLetter(bytes[start]) else {
            throw error("expected a name such as org.example.thing", at: start)
        }
        return name
    }

    private func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }
    private func isAlphanumeric(_ byte: UInt8) -> Bool { isLetter(byte) || 0x30...0x39 ~= byte }

    private func error(_ message: String, at offset: Int? = nil) -> InterfaceSyntaxError {
        let before = bytes[..<(offset ?? position)]
        let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let column = before.count - ((before.lastIndex(of: 0x0A) ?? -1) + 1) + 1
        return InterfaceSyntaxError(line: line, column: column, message: message)
    }
}
