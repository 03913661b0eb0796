internal import CSystemd
internal import Glibc

/// Sees the calls to the owner of a name on the session's message bus, including those to the
/// owner's unique name (`org.freedesktop.DBus.Monitoring.BecomeMonitor`). Such a connection may not
/// send anything, so each name needs its own.
@safe public final class BusMonitor {
    private let bus: OpaquePointer

    /// Calls are seen from the moment that this returns.
    ///
    /// - Parameter address: of the bus (sd_bus_set_address(3)).
    /// - Throws: an error if the bus does not allow it.
    public init(of name: String, at address: String) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_bus_new", unsafe sd_bus_new(&raw))
        unsafe bus = raw!
        try check("sd_bus_set_address", unsafe sd_bus_set_address(bus, address))
        try check("sd_bus_set_bus_client", unsafe sd_bus_set_bus_client(bus, 1))
        try check("sd_bus_set_monitor", unsafe sd_bus_set_monitor(bus, 1))
        try check("sd_bus_start", unsafe sd_bus_start(bus))
        try becomeMonitor(matching: "type='method_call',destination='\(name)'")
    }

    deinit { _ = unsafe sd_bus_flush_close_unref(bus) }

    private func becomeMonitor(matching rule: String) throws(SystemdError) {
        var call: OpaquePointer?
        try check(
            "sd_bus_message_new_method_call",
            unsafe sd_bus_message_new_method_call(
                bus, &call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                "org.freedesktop.DBus.Monitoring", "BecomeMonitor"))
        defer { _ = unsafe sd_bus_message_unref(call) }
        try check(
            "sd_bus_message_open_container",
            unsafe sd_bus_message_open_container(call, CChar(UInt8(ascii: "a")), "s"))
        try check(
            "sd_bus_message_append_basic",
            unsafe rule.withCString {
                unsafe sd_bus_message_append_basic(call, CChar(UInt8(ascii: "s")), $0)
            })
        try check(
            "sd_bus_message_close_container", unsafe sd_bus_message_close_container(call))
        var flags: UInt32 = 0
        try check(
            "sd_bus_message_append_basic",
            unsafe sd_bus_message_append_basic(call, CChar(UInt8(ascii: "u")), &flags))
        try check("BecomeMonitor", unsafe sd_bus_call(bus, call, 0, nil, nil))
    }

    /// Readable when something has arrived (sd_bus_get_fd(3)).
    public var descriptor: CInt { unsafe sd_bus_get_fd(bus) }

    /// The next call, which somebody else answers; nil if none has arrived.
    public func next() throws(SystemdError) -> BusCall? {
        while true {
            var message: OpaquePointer?
            let result = try check("sd_bus_process", unsafe sd_bus_process(bus, &message))
            if let message = unsafe message {
                if unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 {
                    return unsafe BusCall(owning: message)
                }
                _ = unsafe sd_bus_message_unref(message)
            }
            if result == 0 { return nil }
        }
    }
}
