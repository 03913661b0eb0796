internal import Glibc
internal import GreenroomLinux

/// A client of an X server in X's own protocol (X Window System Protocol, X Version 11), so that no
/// library of X is needed.
final class XConnection {
    enum Atom {
        static let atom: UInt32 = 4
        static let cardinal: UInt32 = 6
        static let resourceManager: UInt32 = 23
        static let string: UInt32 = 31
        static let window: UInt32 = 33
    }
    /// Kinds of events. In an event that another client sent (SendEvent), the highest bit is set,
    /// so it is of none of these kinds.
    enum Event {
        static let buttonPress: UInt8 = 4
        static let expose: UInt8 = 12
        static let mapNotify: UInt8 = 19
        static let propertyNotify: UInt8 = 28
        static let generic: UInt8 = 35

        static func kind(_ packet: [UInt8]) -> UInt8 { packet[0] }

        /// Whether the packet is an event from the server itself: not an error, a reply, or an
        /// event that another client sent.
        static func isOfServer(_ packet: [UInt8]) -> Bool { 2..<128 ~= packet[0] }
    }
    enum EventMask {
        static let buttonPress: UInt32 = 1 << 2
        static let exposure: UInt32 = 1 << 15
        static let substructureNotify: UInt32 = 1 << 19
        static let propertyChange: UInt32 = 1 << 22
    }

    /// In nanoseconds: for how long no changes of the root window's properties are heard after too many
    /// have come at once, and how often the properties are looked at meanwhile.
    private static let floodPause: UInt64 = 1_000_000_000
    private static let lookPause: UInt64 = 50_000_000

    let screen: XScreen
    private let stream: DisplayStream
    private var rootMask: UInt32 = 0
    /// When changes of the root window's properties are to be heard again.
    private var resumeAt: UInt64 = 0
    /// When `noteEvents` must be called next, whatever comes; nil while changes are heard.
    private(set) var lookAt: UInt64?
    private var sequence: UInt16 = 0
    /// Notes an event of the server, also one that comes before an awaited answer. It makes no request.
    /// Nothing is kept here, because any client can cause more events than there is memory.
    var note: ([UInt8]) -> Void = { _ in }

    var descriptor: CInt { stream.descriptor }

    /// Whether `noteEvents` may note something although the descriptor is not readable: what came
    /// with an awaited answer.
    var hasReceived: Bool { stream.hasReceived }

    init(
        _ name: XName, _ authority: XAuthority, patience: CInt = DisplayStream.usualPatience
    ) throws(DisplayFailure) {
        stream = try DisplayStream(path: name.socketPath, patience: patience)
        screen = try Self.connect(stream, name, authority)
    }

    // MARK: Requests

    static func request(_ opcode: UInt8, _ detail: UInt8 = 0, words: Int) -> [UInt8] {
        var bytes = [opcode, detail]
        bytes.put(UInt16(words))
        return bytes
    }

    func send(_ request: [UInt8]) throws(DisplayFailure) {
        sequence &+= 1
        try stream.send(request)
    }

    /// Waits for the reply; nil if the server answers with an error, because a window may be gone
    /// by then.
    func reply(to request: [UInt8]) throws(DisplayFailure) -> [UInt8]? {
        try send(request)
        while true {
            let packet = try packet()
            switch packet[0] {
            case 1 where packet.half(at: 2) == sequence: return packet
            case 0 where packet.half(at: 2) == sequence: return nil
            case _: noteEvent(packet)
            }
        }
    }

    /// A property of a window; empty if the window does not have it, or is gone.
    ///
    /// - Parameter wordLimit: at most this many words of 4 bytes are read. The default is enough
    ///   for the longest host name.
    func property(
        _ property: UInt32, of window: UInt32, type: UInt32, wordLimit: UInt32 = 64
    ) throws(DisplayFailure) -> [UInt8] {
        var request = Self.request(20, words: 6)
        request.put(window)
        request.put(property)
        request.put(type)
        request.put(UInt32(0))
        request.put(wordLimit)
        guard let reply = try reply(to: request), reply.word(at: 8) == type else { return [] }
        let byteCount = Int(reply.word(at: 16)) * Int(reply[1]) / 8
        return Array(reply.dropFirst(32).prefix(byteCount))
    }

    /// The window that owns a selection; 0 if there is none.
    func owner(of selection: UInt32) throws(DisplayFailure) -> UInt32 {
        // GetSelectionOwner
        var request = Self.request(23, words: 2)
        request.put(selection)
        return try reply(to: request)?.word(at: 8) ?? 0
    }

    func atom(_ name: String) throws(DisplayFailure) -> UInt32 {
        try reply(to: Self.request(16, named: name))?.word(at: 8) ?? 0
    }

    struct Extension {
        let opcode: UInt8
        /// The kind of its first event.
        let firstEvent: UInt8
    }

    /// Nil if the server does not have the extension.
    func `extension`(_ name: String) throws(DisplayFailure) -> Extension? {
        guard let found = try reply(to: Self.request(98, named: name)), found[8] == 1 else {
            return nil
        }
        return Extension(opcode: found[9], firstEvent: found[10])
    }

    private static func request(_ opcode: UInt8, named name: String) -> [UInt8] {
        let bytes = Array(name.utf8)
        var request = request(opcode, words: 2 + (bytes.count + 3) / 4)
        request.put(UInt16(bytes.count))
        request.put(UInt16(0))
        request += bytes
        request.pad()
        return request
    }

    /// Asks the server to send this client these kinds of events of the root window.
    func selectRootEvents(_ mask: UInt32) throws(DisplayFailure) {
        rootMask = mask
        try selectEvents(mask, of: screen.root)
    }

    func selectEvents(_ mask: UInt32, of window: UInt32) throws(DisplayFailure) {
        var request = Self.request(2, words: 4)
        request.put(window)
        // The values that follow: only the event mask.
        request.put(UInt32(1 << 11))
        request.put(mask)
        try send(request)
    }

    // MARK: Packets

    /// Notes the events that have already come, but at most `DisplayStream.messageLimit` of them.
    ///
    /// A client may change properties of the root window faster than this one can read, and then each
    /// answer comes after a backlog that grows. If that many events come at once, changes are not
    /// heard for a while.
    ///
    /// - Parameter pausesFloods: false if the caller does not call again at `lookAt`.
    /// - Returns: whether the properties of the root window must be looked at.
    func noteEvents(pausesFloods: Bool = true) throws(DisplayFailure) -> Bool {
        for _ in 0..<DisplayStream.messageLimit {
            guard try stream.hasInput() else { return try mustLook() }
            noteEvent(try packet())
        }
        let changes = EventMask.propertyChange
        guard pausesFloods, lookAt == nil, rootMask & changes != 0 else { return false }
        try selectEvents(rootMask & ~changes, of: screen.root)
        let now = MonotonicClock.nanoseconds
        (resumeAt, lookAt) = (now + Self.floodPause, now + Self.lookPause)
        return true
    }

    private func mustLook() throws(DisplayFailure) -> Bool {
        let now = MonotonicClock.nanoseconds
        guard let time = lookAt, time <= now else { return false }
        lookAt = now < resumeAt ? now + Self.lookPause : nil
        if lookAt == nil { try selectRootEvents(rootMask) }
        return true
    }

    /// An error answers a request for which nobody waited, because the request's window was gone.
    private func noteEvent(_ packet: [UInt8]) {
        if Event.isOfServer(packet) { note(packet) }
    }

    /// A reply, an error or an event.
    private func packet() throws(DisplayFailure) -> [UInt8] {
        var packet = try stream.take(32)
        if packet[0] == 1 || packet[0] & 127 == Event.generic {
            packet += try stream.take(Int(packet.word(at: 4)) * 4)
        }
        return packet
    }

    // MARK: The connection

    private static func connect(
        _ stream: DisplayStream, _ name: XName, _ authority: XAuthority
    ) throws(DisplayFailure) -> XScreen {
        var hello: [UInt8] = [UInt8(ascii: "l"), 0]
        hello.put(UInt16(11))
        hello.put(UInt16(0))
        hello.put(UInt16(authority.name.count))
        hello.put(UInt16(authority.data.count))
        hello.put(UInt16(0))
        hello += authority.name
        hello.pad()
        hello += authority.data
        hello.pad()
        try stream.send(hello)
        let head = try stream.take(8)
        let setup = try stream.take(Int(head.half(at: 6)) * 4)
        guard head[0] == 1 else {
            let reason = String(decoding: setup.prefix(Int(head[1])), as: UTF8.self)
            throw .unusable(
                "the X server at \(name.socketPath) refuses: "
                    + reason.filter { !$0.isNewline && $0.isASCII })
        }
        guard let screen = XScreen(setup, number: name.screen) else {
            throw .unusable("the X server at \(name.socketPath) has no screen \(name.screen)")
        }
        return screen
    }
}

/// What an X server says about a screen when a client connects.
struct XScreen {
    let root: UInt32
    let width: Int
    let height: Int
    /// The number of bits in a pixel of the root window.
    let depth: UInt8
    /// The first identifier that this client may give to an object that it makes.
    let firstIdentifier: UInt32
    /// Whether a pixel of the root window has four bytes: blue, green, red and an unused one.
    private(set) var hasPlainPixels = false

    /// The sizes, in bytes, of the fixed part of the server's description and of each part after
    /// it.
    private enum Size {
        static let setup = 32
        static let format = 8
        static let screen = 40
        static let depth = 8
        static let visual = 24
    }

    init?(_ setup: [UInt8], number: Int) {
        guard setup.count > Size.setup, number >= 0, number < setup[20] else { return nil }
        let formats = Size.setup + (Int(setup.half(at: 16)) + 3) / 4 * 4
        let formatsEnd = formats + Int(setup[21]) * Size.format
        var offset = formatsEnd
        for _ in 0..<number {
            guard let end = Self.end(ofScreenAt: offset, setup) else { return nil }
            offset = end
        }
        guard let end = Self.end(ofScreenAt: offset, setup) else { return nil }
        root = setup.word(at: offset)
        (width, height) = (Int(setup.half(at: offset + 20)), Int(setup.half(at: offset + 22)))
        depth = setup[offset + 38]
        firstIdentifier = setup.word(at: 4)
        // The least significant byte of a pixel must come first.
        guard setup[22] == 0 else { return }
        for at in stride(from: formats, to: formatsEnd, by: Size.format)
        where at + 1 < setup.count && setup[at] == depth {
            hasPlainPixels = setup[at + 1] == 32
        }
        hasPlainPixels =
            hasPlainPixels
            && Self.masks(ofVisual: setup.word(at: offset + 32), in: offset..<end, setup)
                == [0xff0000, 0xff00, 0xff]
    }

    private static func end(ofScreenAt start: Int, _ setup: [UInt8]) -> Int? {
        guard start + Size.screen <= setup.count else { return nil }
        var offset = start + Size.screen
        for _ in 0..<setup[start + Size.screen - 1] {
            offset += Size.depth + Int(setup.half(at: offset + 2)) * Size.visual
        }
        return offset
    }

    /// The masks of red, green and blue.
    private static func masks(
        ofVisual visual: UInt32, in screen: Range<Int>, _ setup: [UInt8]
    ) -> [UInt32] {
        var offset = screen.lowerBound + Size.screen
        while offset < screen.upperBound {
            let count = Int(setup.half(at: offset + 2))
            offset += Size.depth
            for _ in 0..<count {
                if setup.word(at: offset) == visual {
                    return [8, 12, 16].map { setup.word(at: offset + $0) }
                }
                offset += Size.visual
            }
        }
        return []
    }
}
