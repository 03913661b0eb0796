internal import CSystemd
internal import Glibc

/// Sees what others send each other on the session's message bus
/// (`org.freedesktop.DBus.Monitoring.BecomeMonitor`). Nothing may be sent on such a connection.
@safe public final class BusMonitor {
    private let bus: OpaquePointer

    /// Sees the calls of whoever owns the name, also those to the owner's unique name.
    ///
    /// - Parameter address: the address of the bus (sd_bus_set_address(3)).
    /// - Throws: an error if the bus does not allow it.
    public convenience init(of name: String, at address: String) throws(SystemdError) {
        try self.init(matching: ["type='method_call',destination='\(name)'"], at: address)
    }

    /// Sees all messages that are sent after this returns and that one of the rules matches.
    ///
    /// - Parameter rules: match rules (D-Bus Specification, "Match Rules").
    public init(matching rules: [String], at address: String) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_bus_new", unsafe sd_bus_new(&raw))
        unsafe bus = raw!
        try check("sd_bus_set_address", unsafe sd_bus_set_address(bus, address))
        try check("sd_bus_set_bus_client", unsafe sd_bus_set_bus_client(bus, 1))
        try check("sd_bus_set_monitor", unsafe sd_bus_set_monitor(bus, 1))
        try check("sd_bus_start", unsafe sd_bus_start(bus))
        try becomeMonitor(matching: rules)
    }

    deinit { _ = unsafe sd_bus_flush_close_unref(bus) }

    private func becomeMonitor(matching rules: [String]) throws(SystemdError) {
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
        for rule in rules {
            try check(
                "sd_bus_message_append_basic",
                unsafe rule.withCString {
                    unsafe sd_bus_message_append_basic(call, CChar(UInt8(ascii: "s")), $0)
                })
        }
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
        var call: BusCall?
        while call == nil {
            let hasMore = try unsafe process { message in
                guard unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 else { return }
                unsafe call = BusCall(owning: sd_bus_message_ref(message))
            }
            if !hasMore { break }
        }
        return call
    }

    /// Whether a signal has arrived since the last call. Reads everything that has arrived.
    public func hasHeardSignal() throws(SystemdError) -> Bool {
        var hasHeard = false
        while try unsafe process({ message in
            // The bus also sends signals about this connection, for example that it has lost its
            // name.
            let isOfBus = unsafe sd_bus_message_is_signal(message, "org.freedesktop.DBus", nil) > 0
            if unsafe sd_bus_message_is_signal(message, nil, nil) > 0, !isOfBus { hasHeard = true }
        }) {}
        return hasHeard
    }

    /// - Returns: false if nothing has come.
    private func process(_ take: (OpaquePointer) -> Void) throws(SystemdError) -> Bool {
        var message: OpaquePointer?
        let result = try check("sd_bus_process", unsafe sd_bus_process(bus, &message))
        if let message = unsafe message {
            unsafe take(message)
            _ = unsafe sd_bus_message_unref(message)
        }
        return result > 0
    }
}
