internal import CSystemd
import Glibc

/// The part of the system bus (sd-bus(3)) that is needed to listen to one service. Nothing here
/// blocks: connecting, calls and matches proceed in the loop.
@LoopActor
@safe public final class SystemBus {
    fileprivate typealias MessageHandler = @LoopActor (BusMessage) -> Void

    /// The target of sd-bus's userdata. The slot lives as long as the bus.
    private final class Slot {
        let fire: MessageHandler
        init(_ fire: @escaping MessageHandler) { self.fire = fire }
    }

    private let bus: OpaquePointer
    private var slots: [Slot] = []

    /// Connects. Messages that are sent before the bus has answered wait in the connection.
    ///
    /// - Parameter takesDescriptors: whether messages may contain descriptors. Every client of the
    ///   bus could then send descriptors, and closing one can take as long as its sender likes, so
    ///   use this only for a short-lived connection.
    /// - Throws: `ENOENT` or `ECONNREFUSED` if no bus is running.
    public init(takesDescriptors: Bool = false) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_bus_new", unsafe sd_bus_new(&raw))
        unsafe bus = raw!
        // `deinit` closes the connection, even if this throws.
        try unsafe Self.open(raw!, takesDescriptors)
        try check(
            "sd_bus_attach_event",
            unsafe sd_bus_attach_event(bus, LoopActor.shared.loop.event, 0))
    }

    /// Connects to a service that serves its own socket, without a bus.
    public init(directly address: String) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_bus_new", unsafe sd_bus_new(&raw))
        unsafe bus = raw!
        try check("sd_bus_set_address", unsafe sd_bus_set_address(bus, address))
        try check("sd_bus_negotiate_fds", unsafe sd_bus_negotiate_fds(bus, 0))
        try check("sd_bus_start", unsafe sd_bus_start(bus))
        try check(
            "sd_bus_attach_event",
            unsafe sd_bus_attach_event(bus, LoopActor.shared.loop.event, 0))
    }

    /// Connects as sd_bus_open_system(3) does. That function would always accept descriptors.
    private static func open(
        _ bus: OpaquePointer, _ takesDescriptors: Bool
    ) throws(SystemdError) {
        let given = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) }
        try check(
            "sd_bus_set_address",
            unsafe sd_bus_set_address(bus, given ?? "unix:path=/run/dbus/system_bus_socket"))
        try check("sd_bus_set_bus_client", unsafe sd_bus_set_bus_client(bus, 1))
        try check(
            "sd_bus_negotiate_fds", unsafe sd_bus_negotiate_fds(bus, takesDescriptors ? 1 : 0))
        try check("sd_bus_start", unsafe sd_bus_start(bus))
    }

    isolated deinit {
        _ = unsafe sd_bus_detach_event(bus)
        _ = unsafe sd_bus_close_unref(bus)
    }

    /// Calls `fire` for every message that the rule matches
    /// (https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-routing-match-rules).
    ///
    /// Every client of the bus can send a signal directly to this connection, whatever sender the
    /// rule names, so check ``BusMessage/sender``.
    public func match(
        _ rule: String, _ fire: @escaping @LoopActor (BusMessage) -> Void
    ) throws(SystemdError) {
        let slot = Slot(fire)
        slots.append(slot)
        try check(
            "sd_bus_add_match_async",
            unsafe sd_bus_add_match_async(
                bus, nil, rule,
                { message, userdata, _ in
                    let slot = unsafe Unmanaged<Slot>.fromOpaque(userdata!).takeUnretainedValue()
                    unsafe slot.fire(BusMessage(message!))
                    return 0
                }, nil, Unmanaged.passUnretained(slot).toOpaque()))
    }

    /// Calls a method with string arguments, and calls `reply` once with the reply or the error.
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String,
        _ arguments: [String], _ reply: @escaping @LoopActor (BusMessage) -> Void
    ) throws(SystemdError) {
        var message: OpaquePointer?
        try check(
            "sd_bus_message_new_method_call",
            unsafe sd_bus_message_new_method_call(
                bus, &message, destination, path, interface, member))
        defer { _ = unsafe sd_bus_message_unref(message) }
        for argument in arguments {
            try check(
                "sd_bus_message_append_basic",
                unsafe argument.withCString {
                    unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0)
                })
        }
        let slot = unsafe Unmanaged.passRetained(Slot(reply))
        let result = unsafe sd_bus_call_async(
            bus, nil, message,
            { message, userdata, _ in
                let slot = unsafe Unmanaged<Slot>.fromOpaque(userdata!).takeRetainedValue()
                unsafe slot.fire(BusMessage(message!))
                return 0
            }, slot.toOpaque(), 0)
        if result < 0 { unsafe slot.release() }
        try check("sd_bus_call_async", result)
    }

    /// The name of a child of `parent`, decoded from the child's object path
    /// (sd_bus_path_decode(3)).
    public static func child(of parent: String, in path: String) -> String? {
        var name: UnsafeMutablePointer<CChar>?
        guard unsafe sd_bus_path_decode(path, parent, &name) > 0, let name = unsafe name else {
            return nil
        }
        defer { unsafe free(name) }
        return unsafe String(cString: name)
    }

    /// The object path of a child of `parent` (sd_bus_path_encode(3)).
    public static func path(of child: String, in parent: String) -> String? {
        var path: UnsafeMutablePointer<CChar>?
        guard unsafe sd_bus_path_encode(parent, child, &path) >= 0, let path = unsafe path else {
            return nil
        }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}

/// A received message. Read its parts in order, while its handler runs.
@LoopActor
@safe public struct BusMessage {
    private let raw: OpaquePointer

    fileprivate init(_ raw: OpaquePointer) { unsafe self.raw = raw }

    /// The unique name of the sender. The bus sets it, so it cannot be forged.
    public var sender: String? {
        unsafe sd_bus_message_get_sender(raw).map { unsafe String(cString: $0) }
    }
    public var path: String? {
        unsafe sd_bus_message_get_path(raw).map { unsafe String(cString: $0) }
    }

    /// Why a call failed, for people; nil for any other message.
    public var failure: String? {
        guard unsafe sd_bus_message_is_method_error(raw, nil) > 0,
            let error = unsafe sd_bus_message_get_error(raw)
        else { return nil }
        return unsafe (error.pointee.message ?? error.pointee.name).map {
            unsafe String(cString: $0)
        } ?? "no reason given"
    }

    public func string() -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe read("s", &value) else { return nil }
        return unsafe value.map { unsafe String(cString: $0) }
    }

    public func boolean() -> Bool? {
        // sd-bus reads a Boolean into an int.
        var value: CInt = 0
        return unsafe read("b", &value) ? value != 0 : nil
    }

    /// A duplicate of a descriptor in the message, which the caller closes.
    public func takeDescriptor() -> CInt? {
        var value: CInt = -1
        guard unsafe read("h", &value) else { return nil }
        let copy = fcntl(value, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? copy : nil
    }

    /// The strings in a reply to org.freedesktop.DBus.Properties.Get.
    public func stringsVariant() -> [String]? {
        guard unsafe sd_bus_message_enter_container(raw, Self.code("v"), "as") > 0,
            unsafe sd_bus_message_enter_container(raw, Self.code("a"), "s") > 0
        else { return nil }
        var all: [String] = []
        while let one = string() { all.append(one) }
        return all
    }

    /// The Boolean in a reply to org.freedesktop.DBus.Properties.Get.
    func booleanVariant() -> Bool? {
        guard unsafe sd_bus_message_enter_container(raw, Self.code("v"), "b") > 0 else {
            return nil
        }
        defer { _ = unsafe sd_bus_message_exit_container(raw) }
        return boolean()
    }

    /// The values with these names in the next dictionary (`a{sv}`), as far as they are Booleans.
    public func booleans(named wanted: [String]) -> [String: Bool] {
        guard unsafe sd_bus_message_enter_container(raw, Self.code("a"), "{sv}") > 0 else {
            return [:]
        }
        var found: [String: Bool] = [:]
        while unsafe sd_bus_message_enter_container(raw, Self.code("e"), "sv") > 0 {
            if let name = string(), wanted.contains(name) { found[name] = booleanVariant() }
            _ = unsafe sd_bus_message_skip(raw, nil)
            _ = unsafe sd_bus_message_exit_container(raw)
            if found.count == wanted.count { break }
        }
        return found
    }

    private func read(_ type: StaticString, _ value: UnsafeMutableRawPointer) -> Bool {
        unsafe sd_bus_message_read_basic(raw, Self.code(type), value) > 0
    }

    private static func code(_ type: StaticString) -> CChar {
        unsafe CChar(bitPattern: type.utf8Start.pointee)
    }
}
