internal import Glibc

/// A client of a Wayland compositor in Wayland's own wire format, so that no library is needed.
final class WaylandConnection {
    struct Message {
        var object: UInt32
        var opcode: UInt32
        var arguments: [UInt8]
    }

    struct Global {
        let name: UInt32
        let interface: String
        let version: UInt32
    }

    private static let display: UInt32 = 1
    private static let registry: UInt32 = 2
    /// Identifiers that the compositor assigns begin here.
    static let firstOfServer: UInt32 = 0xff00_0000

    private let path: String
    private let stream: DisplayStream
    private var lastIdentifier = registry
    /// Identifiers of deleted objects, to be used again: the compositor wants identifiers without
    /// gaps.
    private var freeIdentifiers: [UInt32] = []
    /// What the compositor offers, in the order in which it came.
    private var globals: [Global] = []
    /// Messages that came before an awaited answer.
    private var messages: [Message] = []
    private var awaited: UInt32?

    var descriptor: CInt { stream.descriptor }

    init(
        path: String, patience: CInt = DisplayStream.usualPatience
    ) throws(DisplayFailure) {
        self.path = path
        stream = try DisplayStream(path: path, patience: patience)
        try send(Self.display, 1) { $0.put(Self.registry) }
        try synchronize()
    }

    func newIdentifier() -> UInt32 {
        if let free = freeIdentifiers.popLast() { return free }
        lastIdentifier += 1
        return lastIdentifier
    }

    /// What the compositor has of that interface now.
    func globals(of interface: String) -> [Global] { globals.filter { $0.interface == interface } }

    /// An object for the first global of that interface.
    ///
    /// - Parameter version: the highest one that the caller knows.
    func bind(_ interface: String, upTo version: UInt32 = 1) throws(DisplayFailure) -> UInt32 {
        guard let global = globals(of: interface).first else {
            throw .unusable("the compositor at \(path) has no \(interface)")
        }
        return try bind(global, version: min(version, global.version))
    }

    func bind(_ global: Global, version: UInt32) throws(DisplayFailure) -> UInt32 {
        let object = newIdentifier()
        try send(Self.registry, 0) {
            $0.put(global.name)
            $0.put(text: global.interface)
            $0.put(version)
            $0.put(object)
        }
        return object
    }

    // MARK: Messages

    func send(
        _ object: UInt32, _ opcode: UInt32, descriptors: [CInt] = [],
        _ put: (inout [UInt8]) -> Void = { _ in }
    ) throws(DisplayFailure) {
        var arguments: [UInt8] = []
        put(&arguments)
        var message: [UInt8] = []
        message.put(object)
        message.put(UInt32(8 + arguments.count) << 16 | opcode)
        try stream.send(message + arguments, descriptors: descriptors)
    }

    /// Waits until the compositor has carried out all requests (`wl_display.sync`).
    func synchronize() throws(DisplayFailure) {
        let callback = newIdentifier()
        awaited = callback
        try send(Self.display, 0) { $0.put(callback) }
        while awaited != nil {
            if let message = try readMessage() { messages.append(message) }
        }
    }

    /// The next message that has already come; nil if there is none.
    func next() throws(DisplayFailure) -> Message? {
        if !messages.isEmpty { return messages.removeFirst() }
        while try stream.hasInput() {
            if let message = try readMessage() { return message }
        }
        return nil
    }

    /// Reads a message; nil if it was for this object.
    private func readMessage() throws(DisplayFailure) -> Message? {
        let head = try stream.take(8)
        let size = Int(head.word(at: 4) >> 16)
        guard size >= 8 else { throw .lost(path: path) }
        let arguments = try stream.take(size - 8)
        let message = Message(
            object: head.word(at: 0), opcode: head.word(at: 4) & 0xffff, arguments: arguments)
        switch (message.object, message.opcode) {
        // wl_display.error
        case (Self.display, 0):
            throw .unusable("the compositor at \(path) refuses: \(arguments.text(at: 8))")
        // wl_display.delete_id
        case (Self.display, 1): freeIdentifiers.append(arguments.word(at: 0))
        // wl_registry.global
        case (Self.registry, 0):
            let interface = arguments.text(at: 4)
            // The version comes after the text with its length, its NUL and its padding.
            let size = (Int(arguments.word(at: 4)) + 3) / 4 * 4
            globals.append(
                Global(
                    name: arguments.word(at: 0), interface: interface,
                    version: arguments.word(at: 8 + size)))
        // wl_registry.global_remove
        case (Self.registry, _): globals.removeAll { $0.name == arguments.word(at: 0) }
        // wl_callback.done
        case (awaited, 0): awaited = nil
        case _: return message
        }
        return nil
    }
}

extension [UInt8] {
    /// A string with its length and its NUL, as in Wayland's messages.
    mutating func put(text: String) {
        put(UInt32(text.utf8.count + 1))
        self += Array(text.utf8)
        append(0)
        pad()
    }

    func text(at offset: Int) -> String {
        let length = Int(word(at: offset))
        guard length > 0, offset + 4 + length <= count else { return "" }
        return String(decoding: self[(offset + 4)..<(offset + 3 + length)], as: UTF8.self)
    }
}
