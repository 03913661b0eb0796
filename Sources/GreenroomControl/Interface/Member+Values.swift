import Varlink

// These return a member's value, or throw an error that names the member if the value is wrong. An
// absent member is the same as null.

extension JSONObject.Member {
    var invalid: ServiceError { .invalidParameter(name) }

    /// A string without a NUL, because each string may become a C string.
    func text() throws(ServiceError) -> String {
        guard case .string(let text) = value, !text.hasByte(where: { $0 == 0 }) else {
            throw invalid
        }
        return text
    }

    func optionalText() throws(ServiceError) -> String? {
        value == .null ? nil : try text()
    }

    func bool() throws(ServiceError) -> Bool {
        guard case .bool(let bool) = value else { throw invalid }
        return bool
    }

    /// False if the member is absent.
    func optionalBool() throws(ServiceError) -> Bool {
        value == .null ? false : try bool()
    }

    func integer<T: FixedWidthInteger>() throws(ServiceError) -> T {
        guard case .integer(let integer) = value, let result = T(exactly: integer) else {
            throw invalid
        }
        return result
    }

    func optionalInteger<T: FixedWidthInteger>() throws(ServiceError) -> T? {
        if value == .null { return nil }
        return try integer()
    }

    func number() throws(ServiceError) -> Double {
        switch value {
        case .double(let number): number
        case .integer(let integer): Double(integer)
        case .null, .bool, .string, .array, .object: throw invalid
        }
    }

    func word<T: RawRepresentable<String>>() throws(ServiceError) -> T {
        guard case .string(let text) = value, let word = T(rawValue: text) else { throw invalid }
        return word
    }

    func optionalWord<T: RawRepresentable<String>>() throws(ServiceError) -> T? {
        if value == .null { return nil }
        return try word()
    }

    func object() throws(ServiceError) -> JSONObject {
        guard case .object(let object) = value else { throw invalid }
        return object
    }

    func list() throws(ServiceError) -> [JSONValue] {
        guard case .array(let elements) = value else { throw invalid }
        return elements
    }

    func texts() throws(ServiceError) -> [String] {
        var texts: [String] = []
        let elements = try list()
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard case .string(let text) = element, !text.hasByte(where: { $0 == 0 }) else {
                throw invalid
            }
            texts.append(text)
        }
        return texts
    }

    func optionalTexts() throws(ServiceError) -> [String]? {
        value == .null ? nil : try texts()
    }

    func integers<T: FixedWidthInteger>() throws(ServiceError) -> [T] {
        var integers: [T] = []
        for element in try list() {
            guard case .integer(let value) = element, let integer = T(exactly: value) else {
                throw invalid
            }
            integers.append(integer)
        }
        return integers
    }

    func optionalIntegers<T: FixedWidthInteger>() throws(ServiceError) -> [T]? {
        if value == .null { return nil }
        return try integers()
    }

    /// Decodes each object of a list.
    func objects<T>(
        _ decode: (JSONObject) throws(ServiceError) -> T
    ) throws(ServiceError) -> [T] {
        var result: [T] = []
        for element in try list() {
            guard case .object(let object) = element else { throw invalid }
            result.append(try decode(object))
        }
        return result
    }
}

extension JSONWriter {
    mutating func member(_ name: String, _ word: some RawRepresentable<String>) {
        member(name, word.rawValue)
    }

    mutating func member(_ name: String, ifPresent word: (some RawRepresentable<String>)?) {
        if let word { member(name, word.rawValue) }
    }

    mutating func member(_ name: String, _ number: Double) {
        self.name(name)
        value(number)
    }

    mutating func member(_ name: String, object: some ParametersEncodable) {
        self.name(name)
        beginObject()
        object.encodeMembers(to: &self)
        endObject()
    }

    mutating func member(_ name: String, ifPresent object: (some ParametersEncodable)?) {
        if let object { member(name, object: object) }
    }
}
