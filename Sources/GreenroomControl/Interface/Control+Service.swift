public import Varlink

extension Control {
    /// The description, parsed.
    public static let interface = Interface(trusted: interfaceText)

    /// What `org.varlink.service` of the daemon returns.
    public static func service(version: String) -> Service {
        Service(
            vendor: "Greenroom", product: "greenroomd", version: version,
            url: "https://greenroom.io/", interfaces: [interface])
    }
}
