/// The XML in which the objects of a service describe themselves (D-Bus Specification,
/// "Introspection Data Format").
public enum Introspection {
    private static let header = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">

        """

    /// The text for the object at `path`, in a service with one object.
    ///
    /// - Parameters:
    ///   - object: the path of that object. Each path above it names the node that leads there.
    ///   - interfaces: the object's `interface` elements.
    public static func text(at path: String, object: String, interfaces: String) -> String {
        if path == object { return header + "<node>\n\(interfaces)\n</node>" }
        let parent = path == "/" ? "/" : path + "/"
        let rest = object.hasPrefix(parent) ? object.dropFirst(parent.count) : ""
        let child = rest.prefix { $0 != "/" }
        return header + (child.isEmpty ? "<node/>" : "<node><node name=\"\(child)\"/></node>")
    }
}
