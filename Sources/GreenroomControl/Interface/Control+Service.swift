public import Varlink

extension Control {
    /// What `org.varlink.service` of the daemon returns.
    public static func service(version: String) -> Service {
        Service(
            vendor: "Greenroom", product: "greenroomd", version: version,
            url: "https://greenroom.io/", descriptions: [interfaceName: interfaceText])
    }
}
