// Checks values against the types of an interface.

extension Interface {
    /// Checks the parameters of a call to `method` (the last part of its name) against the
    /// description. A parameter that is unknown, missing or of another type is invalid.
    public func check(input parameters: JSONObject, of method: String) throws(ServiceError) {
        guard let method = methods[method] else { throw .methodNotFound("\(name).\(method)") }
        try check(parameters, against: method.input)
    }

    /// Checks the results of a method, in the same way.
    public func check(output parameters: JSONObject, of method: String) throws(ServiceError) {
        guard let method = methods[method] else { throw .methodNotFound("\(name).\(method)") }
        try check(parameters, against: method.output)
    }

    /// Checks the parameters of an error, in the same way.
    public func check(error parameters: JSONObject, of error: String) throws(ServiceError) {
        guard let fields = errors[error] else { throw .methodNotFound("\(name).\(error)") }
        try check(parameters, against: fields)
    }

    private func check(_ object: JSONObject, against fields: [Field]) throws(ServiceError) {
        if let name = mismatch(object, fields) { throw .invalidParameter(name) }
    }

    /// The name of the first member that does not match.
    private func mismatch(_ object: JSONObject, _ fields: [Field]) -> String? {
        for member in object.members where !fields.contains(where: { $0.name == member.name }) {
            return member.name
        }
        for field in fields where !fits(object[field.name] ?? .null, field.type) {
            return field.name
        }
        return nil
    }

    private func fits(_ value: JSONValue, _ type: InterfaceType) -> Bool {
        switch (type, value) {
        case (.optional, .null), (.bool, .bool), (.int, .integer), (.float, .double),
            (.float, .integer), (.string, .string), (.object, .object):
            true
        case (.optional(let type), _): fits(value, type)
        case (.named(let name), _): types[name].map { fits(value, $0) } ?? false
        case (.structure(let fields), .object(let object)): mismatch(object, fields) == nil
        case (.enumeration(let values), .string(let string)): values.contains(string)
        case (.array(let type), .array(let elements)): elements.allSatisfy { fits($0, type) }
        case (.map(let type), .object(let object)):
            object.members.allSatisfy { fits($0.value, type) }
        case (.bool, _), (.int, _), (.float, _), (.string, _), (.object, _), (.structure, _),
            (.enumeration, _), (.array, _), (.map, _):
            false
        }
    }
}
