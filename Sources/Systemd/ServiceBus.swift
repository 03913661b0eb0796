internal import CSystemd
import Glibc

/// A connection to the message bus with calls that block (sd-bus(3)), for a program that only
/// serves a name.
@safe public final class ServiceBus {
    fileprivate let bus: OpaquePointer

    /// Connects to the bus that started this process (`DBUS_STARTER_ADDRESS`), otherwise to the
    /// session's.
    ///
    /// - Throws: `ENOENT`, `ECONNREFUSED` or `ENOMEDIUM` if there is no bus.
    public init() throws(SystemdError) {
        var raw: OpaquePointer?
        if unsafe getenv("DBUS_STARTER_ADDRESS") != nil {
            try check("sd_bus_open", unsafe sd_bus_open(&raw))
        } else {
            try check("sd_bus_open_user", unsafe sd_bus_open_user(&raw))
        }
        unsafe bus = raw!
    }

    deinit { _ = unsafe sd_bus_flush_close_unref(bus) }

    /// The address of the bus, for a further connection (sd_bus_get_address(3)).
    public func address() throws(SystemdError) -> String {
        var text: UnsafePointer<CChar>?
        try check("sd_bus_get_address", unsafe sd_bus_get_address(bus, &text))
        return unsafe text.map { unsafe String(cString: $0) } ?? ""
    }

    /// Whether somebody owns the name (sd_bus_get_name_creds(3)).
    public func hasOwner(_ name: String) throws(SystemdError) -> Bool {
        let result = unsafe sd_bus_get_name_creds(bus, name, 0, nil)
        if result == -ENXIO { return false }
        try check("sd_bus_get_name_creds", result)
        return true
    }

    /// Takes a name (sd_bus_request_name(3)). Returns false if another process owns it.
    public func request(_ name: String) throws(SystemdError) -> Bool {
        let result = unsafe sd_bus_request_name(bus, name, 0)
        if result == -EEXIST { return false }
        try check("sd_bus_request_name", result)
        return true
    }

    /// Gives up a name. Calls that were sent to it before still arrive; later calls start another
    /// process.
    public func release(_ name: String) throws(SystemdError) {
        try check("sd_bus_release_name", unsafe sd_bus_release_name(bus, name))
    }

    /// Whether a process owns the name. This does not start one.
    public func isOwned(_ name: String) throws(SystemdError) -> Bool {
        var owner: OpaquePointer?
        let result = unsafe sd_bus_get_name_creds(bus, name, 0, &owner)
        _ = unsafe sd_bus_creds_unref(owner)
        if result == -ENXIO { return false }
        try check("sd_bus_get_name_creds", result)
        return true
    }

    /// From now on, a change of the name's owner makes `descriptor` readable (sd_bus_add_match(3)).
    public func watchOwner(of name: String) throws(SystemdError) {
        let rule =
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
            + "member='NameOwnerChanged',arg0='\(name)'"
        try check("sd_bus_add_match", unsafe sd_bus_add_match(bus, nil, rule, nil, nil))
    }

    /// Readable when something has arrived (sd_bus_get_fd(3)).
    public var descriptor: CInt { unsafe sd_bus_get_fd(bus) }

    /// Waits for at most `limit` until something has arrived that ``next(within:)`` has not read yet
    /// (sd_bus_wait(3)).
    public func wait(within limit: Duration) throws(SystemdError) {
        let patience = UInt64(max(0, limit / .microseconds(1)))
        try check("sd_bus_wait", unsafe sd_bus_wait(bus, patience))
    }

    /// Passes a call on to the process that owns the name, and that process's answer to the caller
    /// (sd_bus_call(3)). The owner sees this process as the caller.
    public func pass(_ call: BusCall, to name: String) throws(SystemdError) {
        let copy = try unsafe call.copy(to: name, on: bus)
        defer { _ = unsafe sd_bus_message_unref(copy) }
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        var answer: OpaquePointer?
        defer { _ = unsafe sd_bus_message_unref(answer) }
        if unsafe sd_bus_call(bus, copy, Self.answerPatience, &error, &answer) < 0 {
            try unsafe call.fail(&error)
        } else if let answer = unsafe answer {
            try unsafe call.reply(copying: answer)
        }
    }

    /// How long an answer may take, in microseconds. A caller that waits less long does not see it.
    private static let answerPatience: UInt64 = 120_000_000

    /// The next method call; nil if none arrives within `limit`.
    public func next(within limit: Duration) throws(SystemdError) -> BusCall? {
        var patience = UInt64(max(0, limit / .microseconds(1)))
        while true {
            var message: OpaquePointer?
            let result = try check("sd_bus_process", unsafe sd_bus_process(bus, &message))
            if let message = unsafe message {
                if unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 {
                    return unsafe BusCall(owning: message)
                }
                _ = unsafe sd_bus_message_unref(message)
            }
            guard result == 0 else { continue }
            guard patience > 0 else { return nil }
            let begun = SystemdClock.monotonicMicroseconds
            try check("sd_bus_wait", unsafe sd_bus_wait(bus, patience))
            let elapsed = SystemdClock.monotonicMicroseconds - begun
            patience = patience > elapsed ? patience - elapsed : 0
        }
    }
}

/// The callers that are still on the bus (sd_bus_track_new(3)). A departure is noticed only when
/// the bus is asked for its next call.
@safe public final class BusCallers {
    private let track: OpaquePointer

    public init(on bus: ServiceBus) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_bus_track_new", unsafe sd_bus_track_new(bus.bus, &raw, nil, nil))
        unsafe track = raw!
    }

    deinit { _ = unsafe sd_bus_track_unref(track) }

    public func add(_ caller: String) throws(SystemdError) {
        try check("sd_bus_track_add_name", unsafe sd_bus_track_add_name(track, caller))
    }

    public func contains(_ caller: String) -> Bool {
        unsafe sd_bus_track_contains(track, caller) != nil
    }
}

private enum SystemdClock {
    static var monotonicMicroseconds: UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }
}

/// A method call. Read its parts in order, and answer it once.
@safe public final class BusCall {
    private let message: OpaquePointer

    init(owning message: OpaquePointer) { unsafe self.message = message }
    deinit { _ = unsafe sd_bus_message_unref(message) }

    public var path: String { unsafe Self.text(sd_bus_message_get_path(message)) }
    public var interface: String { unsafe Self.text(sd_bus_message_get_interface(message)) }
    public var member: String { unsafe Self.text(sd_bus_message_get_member(message)) }

    /// The caller's unique name on the bus.
    public var sender: String { unsafe Self.text(sd_bus_message_get_sender(message)) }

    /// The signature of the whole body, as in the D-Bus specification: `asa{sv}`.
    public var signature: String { unsafe Self.text(sd_bus_message_get_signature(message, 1)) }

    private static func text(_ value: UnsafePointer<CChar>?) -> String {
        unsafe value.map { unsafe String(cString: $0) } ?? ""
    }

    public func string() -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(message, Self.code("s"), &value) > 0 else {
            return nil
        }
        return unsafe value.map { unsafe String(cString: $0) }
    }

    /// Reads a number of any type, if its value is a whole number.
    public func number() -> Int64? {
        var type: CChar = 0
        guard unsafe sd_bus_message_peek_type(message, &type, nil) > 0 else { return nil }
        func read<Number: BitwiseCopyable>(_ start: Number) -> Number? {
            var value = start
            return unsafe sd_bus_message_read_basic(message, type, &value) > 0 ? value : nil
        }
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "i"): return read(Int32(0)).map(Int64.init)
        case UInt8(ascii: "u"): return read(UInt32(0)).map(Int64.init)
        case UInt8(ascii: "x"): return read(Int64(0))
        case UInt8(ascii: "t"): return read(UInt64(0)).flatMap(Int64.init(exactly:))
        // JavaScript, in which desktops are scripted, sends doubles.
        case UInt8(ascii: "d"): return read(Double(0)).flatMap(Int64.init(exactly:))
        default: return nil
        }
    }

    /// Reads `as`.
    public func strings() -> [String]? {
        guard unsafe sd_bus_message_enter_container(message, Self.code("a"), "s") > 0 else {
            return nil
        }
        defer { _ = unsafe sd_bus_message_exit_container(message) }
        var all: [String] = []
        while let one = string() { all.append(one) }
        return all
    }

    /// Skips `av`, and returns whether it has any elements.
    public func hasVariants() -> Bool? {
        guard unsafe sd_bus_message_enter_container(message, Self.code("a"), "v") > 0 else {
            return nil
        }
        defer { _ = unsafe sd_bus_message_exit_container(message) }
        let isEmpty = unsafe sd_bus_message_at_end(message, 0) > 0
        while unsafe sd_bus_message_at_end(message, 0) == 0 {
            guard unsafe sd_bus_message_skip(message, "v") > 0 else { break }
        }
        return !isEmpty
    }

    /// Reads `a{sv}` and returns the values that are strings.
    public func stringValues() -> [String: String] {
        guard unsafe sd_bus_message_enter_container(message, Self.code("a"), "{sv}") > 0 else {
            return [:]
        }
        defer { _ = unsafe sd_bus_message_exit_container(message) }
        var values: [String: String] = [:]
        while unsafe sd_bus_message_enter_container(message, Self.code("e"), "sv") > 0 {
            if let name = string() {
                if unsafe sd_bus_message_enter_container(message, Self.code("v"), "s") > 0 {
                    values[name] = string()
                    _ = unsafe sd_bus_message_exit_container(message)
                } else {
                    _ = unsafe sd_bus_message_skip(message, "v")
                }
            }
            _ = unsafe sd_bus_message_exit_container(message)
        }
        return values
    }

    // MARK: Passing on

    /// A copy of the call for another receiver, which the caller must free. The bus starts nobody to
    /// receive it.
    fileprivate func copy(to name: String, on bus: OpaquePointer) throws(SystemdError)
        -> OpaquePointer?
    {
        var copy: OpaquePointer?
        try check(
            "sd_bus_message_new_method_call",
            unsafe sd_bus_message_new_method_call(
                bus, &copy, name, path, interface.isEmpty ? nil : interface, member))
        try check("sd_bus_message_set_auto_start", unsafe sd_bus_message_set_auto_start(copy, 0))
        try check("sd_bus_message_rewind", unsafe sd_bus_message_rewind(message, 1))
        try check("sd_bus_message_copy", unsafe sd_bus_message_copy(copy, message, 1))
        return unsafe copy
    }

    fileprivate func reply(copying answer: OpaquePointer) throws(SystemdError) {
        var reply: OpaquePointer?
        try check(
            "sd_bus_message_new_method_return",
            unsafe sd_bus_message_new_method_return(message, &reply))
        defer { _ = unsafe sd_bus_message_unref(reply) }
        try check("sd_bus_message_copy", unsafe sd_bus_message_copy(reply, answer, 1))
        try check("sd_bus_send", unsafe sd_bus_send(nil, reply, nil))
    }

    fileprivate func fail(_ error: inout sd_bus_error) throws(SystemdError) {
        try check(
            "sd_bus_reply_method_error", unsafe sd_bus_reply_method_error(message, &error))
    }

    // MARK: Answering

    /// - Parameter text: the only value of the reply; nil for none.
    public func reply(_ text: String? = nil) throws(SystemdError) {
        var reply: OpaquePointer?
        try check(
            "sd_bus_message_new_method_return",
            unsafe sd_bus_message_new_method_return(message, &reply))
        defer { _ = unsafe sd_bus_message_unref(reply) }
        if let text {
            try check(
                "sd_bus_message_append_basic",
                unsafe text.withCString {
                    unsafe sd_bus_message_append_basic(reply, Self.code("s"), $0)
                })
        }
        try check("sd_bus_send", unsafe sd_bus_send(nil, reply, nil))
    }

    /// - Parameter name: the error's name, such as `org.freedesktop.DBus.Error.Failed`.
    public func fail(_ name: String, _ text: String) throws(SystemdError) {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        _ = unsafe sd_bus_error_set(&error, name, text)
        try unsafe fail(&error)
    }

    private static func code(_ type: StaticString) -> CChar {
        unsafe CChar(bitPattern: type.utf8Start.pointee)
    }
}
