internal import Glibc

/// An X display. The window manager keeps the window with the focus in the root window's
/// property _NET_ACTIVE_WINDOW (Extended Window Manager Hints). The server knows the process of the
/// window's client (XResQueryClientIds of the X-Resource extension); without that extension, the
/// client's own word counts (_NET_WM_PID).
final class XDisplay: Display {
    private let connection: XConnection
    private let activeWindow: UInt32
    private let processOfWindow: UInt32
    private let machineOfClient: UInt32
    /// The X-Resource extension's opcode; nil if it does not report processes (before 1.2).
    private let resourceOpcode: UInt8?
    private var mayHaveChanged = true
    private var last: Front?

    var descriptor: CInt { connection.descriptor }
    var hasMore: Bool { mayHaveChanged || connection.hasReceived }
    var lookAt: UInt64? { connection.lookAt }

    init(_ name: XName, _ authority: XAuthority) throws(DisplayFailure) {
        connection = try XConnection(name, authority)
        activeWindow = try connection.atom("_NET_ACTIVE_WINDOW")
        processOfWindow = try connection.atom("_NET_WM_PID")
        machineOfClient = try connection.atom("WM_CLIENT_MACHINE")
        resourceOpcode = try Self.resourceExtension(of: connection)
        connection.note = { [unowned self] in note($0) }
        try connection.selectRootEvents(XConnection.EventMask.propertyChange)
    }

    func front() throws(DisplayFailure) -> Front? {
        if try connection.noteEvents() { mayHaveChanged = true }
        if mayHaveChanged {
            mayHaveChanged = false
            last = try ask()
        }
        return last
    }

    private func note(_ event: [UInt8]) {
        guard XConnection.Event.kind(event) == XConnection.Event.propertyNotify,
            event.word(at: 4) == connection.screen.root, event.word(at: 8) == activeWindow
        else { return }
        mayHaveChanged = true
    }

    // MARK: Questions

    private func ask() throws(DisplayFailure) -> Front? {
        let root = connection.screen.root
        let window = try connection.property(
            activeWindow, of: root, type: XConnection.Atom.window
        ).word(at: 0)
        guard window != 0 else { return nil }
        return try process(of: window).map { .process($0) }
    }

    private func process(of window: UInt32) throws(DisplayFailure) -> Int32? {
        if let resourceOpcode {
            var request = XConnection.request(resourceOpcode, 4, words: 4)
            request.put(UInt32(1))
            request.put(window)
            // XRES_CLIENT_ID_PID_MASK of XResClientIdSpec: the process of a local client.
            request.put(UInt32(2))
            guard let reply = try connection.reply(to: request), reply.word(at: 8) > 0,
                reply.word(at: 40) >= 4
            else { return nil }
            return Self.process(reply.word(at: 44))
        }
        // Only process numbers of this machine mean anything here.
        let machine = try connection.property(
            machineOfClient, of: window, type: XConnection.Atom.string)
        guard machine == Self.hostName else { return nil }
        let number = try connection.property(
            processOfWindow, of: window, type: XConnection.Atom.cardinal)
        return Self.process(number.word(at: 0))
    }

    private static func process(_ number: UInt32) -> Int32? {
        Int32(exactly: number).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func resourceExtension(
        of connection: XConnection
    ) throws(DisplayFailure) -> UInt8? {
        guard let opcode = try connection.extension("X-Resource")?.opcode else { return nil }
        // This client's version of the extension: 1.2.
        var version = XConnection.request(opcode, 0, words: 2)
        version += [1, 2, 0, 0]
        guard let known = try connection.reply(to: version) else { return nil }
        return (known.half(at: 8), known.half(at: 10)) >= (1, 2) ? opcode : nil
    }

    private static let hostName: [UInt8] = {
        var name = utsname()
        guard unsafe uname(&name) == 0 else { return [] }
        return unsafe withUnsafeBytes(of: &name.nodename) { unsafe Array($0.prefix { $0 != 0 }) }
    }()
}
