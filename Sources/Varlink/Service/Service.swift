/// Describes a service, and answers calls to `org.varlink.service`.
public struct Service: Sendable {
    public let vendor: String
    public let product: String
    public let version: String
    public let url: String
    /// The texts of the interfaces by name, including `org.varlink.service`. They are not parsed,
    /// because a daemon's first caller would wait for that.
    public let descriptions: [String: String]

    public init(
        vendor: String, product: String, version: String, url: String,
        descriptions: [String: String]
    ) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.descriptions = descriptions.merging([Self.interfaceName: Self.interfaceText]) { $1 }
    }

    /// Answers a call to `org.varlink.service`, or to an interface that this service does not have.
    /// - Returns: false if the call is for one of the service's own interfaces. Then nothing was
    ///   done.
    public func answer(_ call: Call, on connection: inout ServerConnection) -> Bool {
        do throws(ServiceError) {
            switch call.method {
            case "org.varlink.service.GetInfo":
                try expect(call, [])
                connection.reply(information)
            case "org.varlink.service.GetInterfaceDescription":
                try expect(call, ["interface"])
                guard case .string(let name)? = call.parameters["interface"] else {
                    throw .invalidParameter("interface")
                }
                guard let text = descriptions[name] else { throw .interfaceNotFound(name) }
                connection.reply(["description": .string(text)] as JSONObject)
            case let method where call.interfaceName == Self.interfaceName:
                throw .methodNotFound(method)
            case _:
                let name = String(call.interfaceName)
                guard descriptions[name] != nil else { throw .interfaceNotFound(name) }
                return false
            }
        } catch {
            connection.fail(error)
        }
        return true
    }

    private func expect(_ call: Call, _ names: [String]) throws(ServiceError) {
        for member in call.parameters.members where !names.contains(member.name) {
            throw .invalidParameter(member.name)
        }
    }

    private var information: JSONObject {
        [
            "vendor": .string(vendor), "product": .string(product), "version": .string(version),
            "url": .string(url),
            "interfaces": .array(descriptions.keys.sorted().map { .string($0) }),
        ]
    }
}
