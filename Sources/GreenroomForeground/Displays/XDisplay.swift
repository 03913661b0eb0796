internal import Glibc

/// An X display, asked in X's own protocol (X Window System Protocol, X Version 11), so that no
/// library of X is needed. The window manager keeps the window with the focus in the root window's
/// property _NET_ACTIVE_WINDOW (Extended Window Manager Hints). The process is what the server knows
/// of the window's client (XResQueryClientIds of the X-Resource extension); where the server has no
/// such extension, what the client says itself (_NET_WM_PID).
final class XDisplay: Display {
    private enum Atom {
        static let cardinal: UInt32 = 6
        static let string: UInt32 = 31
        static let window: UInt32 = 33
    }
    private static let propertyNotify: UInt8 = 28
    private static let genericEvent: UInt8 = 35
    private static let propertyChangeMask: UInt32 = 1 << 22

    private let stream: DisplayStream
    private let root: UInt32
    private var sequence: UInt16 = 0
    private var activeWindow: UInt32 = 0
    private var processOfWindow: UInt32 = 0
    private var machineOfClient: UInt32 = 0
    /// The X-Resource extension's opcode; nil if it cannot tell processes (before 1.2).
    private var resourceOpcode: UInt8?
    private var mayHaveChanged = true
    private var last: Front?

    var descriptor: CInt { stream.descriptor }

    init(_ name: XName, _ authority: XAuthority) throws(DisplayFailure) {
        stream = try DisplayStream(path: name.socketPath)
        root = try Self.connect(stream, name, authority)
        activeWindow = try atom("_NET_ACTIVE_WINDOW")
        processOfWindow = try atom("_NET_WM_PID")
        machineOfClient = try atom("WM_CLIENT_MACHINE")
        resourceOpcode = try findResourceExtension()
        var request = Self.request(2, words: 4)
        request.put(root)
        // Which values follow: the event mask.
        request.put(UInt32(1 << 11))
        request.put(Self.propertyChangeMask)
        try send(request)
    }

    func front() throws(DisplayFailure) -> Front? {
        while try stream.peek(1) != nil { note(try packet()) }
        while mayHaveChanged {
            mayHaveChanged = false
            last = try ask()
            while try stream.peek(1) != nil { note(try packet()) }
        }
        return last
    }

    // MARK: Questions

    private func ask() throws(DisplayFailure) -> Front? {
        let window = try property(activeWindow, of: root, type: Atom.window).word(at: 0)
        guard window != 0 else { return nil }
        return try process(of: window).map { .process($0) }
    }

    private func process(of window: UInt32) throws(DisplayFailure) -> Int32? {
        if let resourceOpcode {
            var request = Self.request(resourceOpcode, 4, words: 4)
            request.put(UInt32(1))
            request.put(window)
            // XRES_CLIENT_ID_PID_MASK of XResClientIdSpec: the process of a local client.
            request.put(UInt32(2))
            guard let reply = try reply(to: request), reply.word(at: 8) > 0,
                reply.word(at: 40) >= 4
            else { return nil }
            return Self.process(reply.word(at: 44))
        }
        // Only the numbers of this machine mean something here.
        let machine = try property(machineOfClient, of: window, type: Atom.string)
        guard machine == Self.hostName else { return nil }
        let number = try property(processOfWindow, of: window, type: Atom.cardinal)
        return Self.process(number.word(at: 0))
    }

    private static func process(_ number: UInt32) -> Int32? {
        Int32(exactly: number).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Empty if there is none, or if the window is gone.
    private func property(
        _ property: UInt32, of window: UInt32, type: UInt32
    ) throws(DisplayFailure) -> [UInt8] {
        var request = Self.request(20, words: 6)
        request.put(window)
        request.put(property)
        request.put(type)
        request.put(UInt32(0))
        // As many words as a host name has at most.
        request.put(UInt32(64))
        guard let reply = try reply(to: request), reply.word(at: 8) == type else { return [] }
        let byteCount = Int(reply.word(at: 16)) * Int(reply[1]) / 8
        return Array(reply.dropFirst(32).prefix(byteCount))
    }

    private func atom(_ name: String) throws(DisplayFailure) -> UInt32 {
        let bytes = Array(name.utf8)
        var request = Self.request(16, words: 2 + (bytes.count + 3) / 4)
        request.put(UInt16(bytes.count))
        request.put(UInt16(0))
        request += bytes
        request.pad()
        return try reply(to: request)?.word(at: 8) ?? 0
    }

    private func findResourceExtension() throws(DisplayFailure) -> UInt8? {
        let name = Array("X-Resource".utf8)
        var request = Self.request(98, words: 2 + (name.count + 3) / 4)
        request.put(UInt16(name.count))
        request.put(UInt16(0))
        request += name
        request.pad()
        guard let found = try reply(to: request), found[8] == 1 else { return nil }
        let opcode = found[9]
        // The version that this client knows: 1.2.
        var version = Self.request(opcode, 0, words: 2)
        version += [1, 2, 0, 0]
        guard let known = try reply(to: version) else { return nil }
        return (known.half(at: 8), known.half(at: 10)) >= (1, 2) ? opcode : nil
    }

    // MARK: Packets

    private static func request(_ opcode: UInt8, _ detail: UInt8 = 0, words: Int) -> [UInt8] {
        var bytes = [opcode, detail]
        bytes.put(UInt16(words))
        return bytes
    }

    private func send(_ request: [UInt8]) throws(DisplayFailure) {
        sequence &+= 1
        try stream.send(request)
    }

    /// Nil if the server answers with an error: a window may be gone by now.
    private func reply(to request: [UInt8]) throws(DisplayFailure) -> [UInt8]? {
        try send(request)
        while true {
            let packet = try packet()
            switch packet[0] {
            case 1 where packet.half(at: 2) == sequence: return packet
            case 0 where packet.half(at: 2) == sequence: return nil
            case _: note(packet)
            }
        }
    }

    /// A reply, an error or an event.
    private func packet() throws(DisplayFailure) -> [UInt8] {
        var packet = try stream.take(32)
        if packet[0] == 1 || packet[0] & 127 == Self.genericEvent {
            packet += try stream.take(Int(packet.word(at: 4)) * 4)
        }
        return packet
    }

    private func note(_ packet: [UInt8]) {
        guard packet[0] & 127 == Self.propertyNotify, packet.word(at: 4) == root,
            packet.word(at: 8) == activeWindow
        else { return }
        mayHaveChanged = true
    }

    // MARK: The connection

    /// - Returns: the root window of the screen.
    private static func connect(
        _ stream: DisplayStream, _ name: XName, _ authority: XAuthority
    ) throws(DisplayFailure) -> UInt32 {
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
        guard let root = root(of: setup, screen: name.screen) else {
            throw .unusable("the X server at \(name.socketPath) has no screen \(name.screen)")
        }
        return root
    }

    /// Where the fixed part of the server's description ends, and what each part after it takes.
    private enum Size {
        static let setup = 32
        static let format = 8
        static let screen = 40
        static let depth = 8
        static let visual = 24
    }

    private static func root(of setup: [UInt8], screen wanted: Int) -> UInt32? {
        guard setup.count > Size.setup, wanted >= 0, wanted < setup[20] else { return nil }
        let vendor = (Int(setup.half(at: 16)) + 3) / 4 * 4
        var offset = Size.setup + vendor + Int(setup[21]) * Size.format
        for _ in 0..<wanted {
            guard offset + Size.screen <= setup.count else { return nil }
            let depths = Int(setup[offset + Size.screen - 1])
            offset += Size.screen
            for _ in 0..<depths {
                offset += Size.depth + Int(setup.half(at: offset + 2)) * Size.visual
            }
        }
        return offset + Size.screen <= setup.count ? setup.word(at: offset) : nil
    }

    private static let hostName: [UInt8] = {
        var name = utsname()
        guard unsafe uname(&name) == 0 else { return [] }
        return unsafe withUnsafeBytes(of: &name.nodename) { unsafe Array($0.prefix { $0 != 0 }) }
    }()
}
