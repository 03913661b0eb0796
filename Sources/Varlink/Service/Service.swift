/// Describes a service, and answers calls to `org.varlink.service`.
public struct Service: Sendable {
    public let vendor: String
    public let product: String
    public let version: String
    public let url: String
    /// The interfaces, sorted by name, including `org.varlink.service`.
    public let interfaces: [Interface]

    public init(
        vendor: String, product: String, version: String, url: String, interfaces: [Interface]
    ) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.interfaces = (interfaces + [.service]).sorted { $0.name < $1.name }
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
                guard let interface = interfaces.first(where: { $0.name == name }) else {
                    throw .interfaceNotFound(name)
                }
                connection.reply(["description": .string(interface.text)] as JSONObject)
            case let method where call.interfaceName == Interface.service.name:
                throw .methodNotFound(method)
            case _:
                let name = call.interfaceName
                guard interfaces.contains(where: { $0.name == name }) else {
                    throw .interfaceNotFound(String(name))
                }
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
            "interfaces": .array(interfaces.map { .string($0.name) }),
        ]
    }
}
