/// Why this codec rejects a text as JSON.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Code: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedCharacter = "this character is not allowed here"
        case trailingCharacters = "something follows the value"
        case tooDeep = "arrays and objects are nested too deeply"
        case duplicateName = "the object has this name twice"
        case malformedNumber = "this is not a number"
        case numberOutOfRange = "the number does not fit a double"
        case malformedEscape = "this is not an escape sequence"
        case loneSurrogate = "the other half of a surrogate pair is missing"
        case controlCharacter = "a string contains a control character that is not escaped"
        case invalidUTF8 = "the string is not UTF-8"
        case numberTooLong = "the number has too many digits"
        case tooManyValues = "there are too many values"
        case tooManyNames = "there are too many names"
    }
    public let code: Code
    /// The position in bytes from the start of the text.
    public let offset: Int

    public var description: String { "byte \(offset): \(code.rawValue)" }
}

extension JSONValue {
    /// Reads one JSON text and nothing after it (RFC 8259, strict where the RFC leaves a choice: no
    /// byte order mark, no duplicate names, no lone surrogates).
    /// - Parameter limits: the limits of one message.
    public init(parsing bytes: Span<UInt8>, limits: Limits = .standard) throws(JSONSyntaxError) {
        var parser = JSONParser(limits)
        self = try parser.text(bytes)
    }

    /// Reads one JSON text and nothing after it.
    public init(parsing text: String, limits: Limits = .standard) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8).span, limits: limits)
    }
}

/// A recursive-descent parser. It does not store the bytes, only its position in the bytes that are
/// passed to it.
struct JSONParser {
    /// The maximum number of characters in a number. 25 are enough to distinguish all doubles, and
    /// strtod(3) takes quadratic time.
    static let numberByteLimit = 128
    /// A number that is not an integer costs as much as this many other values: up to 3 µs.
    static let otherNumberCost = 64

    let depthLimit: Int
    var position = 0
    var depth = 0
    /// How many more values and names the text may have.
    private var valuesLeft: Int
    private var namesLeft: Int

    init(_ limits: Limits) {
        depthLimit = limits.depth
        valuesLeft = limits.messageValueCount
        namesLeft = limits.messageNameCount
    }

    mutating func text(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        skipSpace(bytes)
        let value = try value(bytes)
        skipSpace(bytes)
        guard position == bytes.count else { throw error(.trailingCharacters) }
        return value
    }

    func error(_ code: JSONSyntaxError.Code) -> JSONSyntaxError {
        JSONSyntaxError(code: code, offset: position)
    }

    @inline(__always)
    mutating func skipSpace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            case _: return
            }
        }
    }

    /// The byte at the current position. Throws at the end of the text.
    @inline(__always)
    func peek(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    private mutating func value(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        try count(1)
        switch try peek(bytes) {
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "{"): return .object(try object(bytes))
        case UInt8(ascii: "["): return .array(try array(bytes))
        case UInt8(ascii: "t"):
            try word("true", bytes)
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false", bytes)
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null", bytes)
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(bytes)
        case _: throw error(.unexpectedCharacter)
        }
    }

    /// Counts the following values, or work that costs as much as that many values.
    mutating func count(_ values: Int) throws(JSONSyntaxError) {
        valuesLeft -= values
        guard valuesLeft >= 0 else { throw error(.tooManyValues) }
    }

    private mutating func word(_ word: String, _ bytes: Span<UInt8>) throws(JSONSyntaxError) {
        for byte in word.utf8 {
            guard try peek(bytes) == byte else { throw error(.unexpectedCharacter) }
            position += 1
        }
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < depthLimit else { throw error(.tooDeep) }
        depth += 1
        position += 1
    }

    private mutating func array(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        skipSpace(bytes)
        if try peek(bytes) != UInt8(ascii: "]") {
            while true {
                skipSpace(bytes)
                elements.append(try value(bytes))
                skipSpace(bytes)
                let byte = try peek(bytes)
                if byte == UInt8(ascii: "]") { break }
                guard byte == UInt8(ascii: ",") else { throw error(.unexpectedCharacter) }
                position += 1
            }
        }
        position += 1
        depth -= 1
        return elements
    }

    private mutating func object(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONObject {
        try enter()
        var members = UniqueMembers()
        skipSpace(bytes)
        if try peek(bytes) != UInt8(ascii: "}") {
            while true {
                skipSpace(bytes)
                guard try peek(bytes) == UInt8(ascii: "\"") else {
                    throw error(.unexpectedCharacter)
                }
                let start = position
                namesLeft -= 1
                guard namesLeft >= 0 else { throw error(.tooManyNames) }
                let name = try string(bytes)
                guard members.claim(name) else {
                    throw JSONSyntaxError(code: .duplicateName, offset: start)
                }
                skipSpace(bytes)
                guard try peek(bytes) == UInt8(ascii: ":") else {
                    throw error(.unexpectedCharacter)
                }
                position += 1
                skipSpace(bytes)
                members.append(name, try value(bytes))
                skipSpace(bytes)
                let byte = try peek(bytes)
                if byte == UInt8(ascii: "}") { break }
                guard byte == UInt8(ascii: ",") else { throw error(.unexpectedCharacter) }
                position += 1
            }
        }
        position += 1
        depth -= 1
        return JSONObject(unique: members.list)
    }
}

/// The members of an object that is being read. If there are few names, they are compared one by
/// one; if there are many, with a set, so that a stranger's object with a million names takes
/// linear time.
private struct UniqueMembers {
    static let linearLimit = 16

    var list: [JSONObject.Member] = []
    private var seen: Set<Name> = []

    private struct Name: Hashable {
        let text: String
        static func == (left: Name, right: Name) -> Bool {
            JSONObject.isSame(left.text, right.text)
        }
        func hash(into hasher: inout Hasher) {
            unsafe text.utf8Span.span.bytes.withUnsafeBytes {
                unsafe hasher.combine(bytes: $0)
            }
        }
    }

    /// Returns false if the name is already there.
    mutating func claim(_ name: String) -> Bool {
        if list.count < Self.linearLimit {
            for member in list where JSONObject.isSame(member.name, name) { return false }
            return true
        }
        if seen.isEmpty {
            for member in list { seen.insert(Name(text: member.name)) }
        }
        return seen.insert(Name(text: name)).inserted
    }

    mutating func append(_ name: String, _ value: JSONValue) {
        if list.isEmpty { list.reserveCapacity(6) }
        list.append(JSONObject.Member(name: name, value: value))
    }
}
