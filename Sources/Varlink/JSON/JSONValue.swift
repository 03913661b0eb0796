/// A JSON value (RFC 8259). Integers that fit are exact, and no other number counts as an integer,
/// so an `int` parameter is never a rounded number.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number; always finite.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The value of the member with that name; nil if this is not an object that has one.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[name]
    }
}

/// The members of a JSON object in the order of the text, each name once. Names are compared
/// byte by byte, because Swift's `==` treats canonically equivalent names as equal.
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Sendable {
        public var name: String
        public var value: JSONValue
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    public internal(set) var members: [Member]

    /// Creates an object without members.
    public init() { members = [] }

    init(unique members: [Member]) { self.members = members }

    public var isEmpty: Bool { members.isEmpty }

    /// The member's value. Setting `nil` removes it.
    public subscript(name: String) -> JSONValue? {
        get {
            for member in members where JSONObject.isSame(member.name, name) { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { JSONObject.isSame($0.name, name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Compares byte by byte. Length and `==` are compared first, because they are far faster and
    /// most pairs differ in them.
    @inline(__always)
    static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && left == right && left.utf8.elementsEqual(right.utf8)
    }
}

/// Two objects are equal if they have equal members in any order.
extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count
            && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(members.count) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Traps if a name occurs twice, which is a bug of the program.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }

    init(_ elements: [(String, JSONValue)]) {
        self.init()
        for (name, value) in elements {
            precondition(self[name] == nil, "the member \(name) comes twice")
            members.append(Member(name: name, value: value))
        }
    }
}
