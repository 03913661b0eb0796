/// A launch screen on an X server: a window that no window manager manages, so it takes no focus
/// and appears in no task bar. It lies just above the windows that are managed, and so below menus
/// and screen lockers. The server removes it if this process ends.
///
/// New windows are those in the window manager's list (_NET_CLIENT_LIST of the Extended Window Manager
/// Hints); without such a list, those that are mapped and want to be managed.
final class XScreenDisplay: ScreenDisplay {
    /// The predefined atom WM_NAME.
    private static let windowName: UInt32 = 39
    /// In bytes. The longest request that every server takes is 262,140 bytes.
    private static let rowsByteLimit = 256_000

    private struct Atoms {
        let clientList: UInt32
        let windowType: UInt32
        let splash: UInt32
    }

    private struct Shown {
        let content: Pixels
        let x: Int
        let y: Int
    }

    private let connection: XConnection
    private let desktop: XDesktop
    private let atoms: Atoms
    private let window: UInt32
    private let graphicsContext: UInt32
    private var windows: Set<UInt32> = []
    private var shown: Shown?
    /// What the events since the last `hear` were about.
    private var noted: Noted = []

    private struct Noted: OptionSet {
        let rawValue: UInt8
        /// The whole of the screen can be drawn.
        static let expose = Noted(rawValue: 1)
        static let clientList = Noted(rawValue: 2)
        /// A new window, or a click on the screen: the user wants to see what is below.
        static let end = Noted(rawValue: 4)
    }

    var descriptor: CInt { connection.descriptor }
    var hasMore: Bool { !noted.isEmpty || connection.hasReceived }
    var lookAt: UInt64? { connection.lookAt }

    init(_ name: XName, _ authority: XAuthority) throws(DisplayFailure) {
        connection = try XConnection(name, authority)
        let screen = connection.screen
        guard screen.hasPlainPixels else {
            throw .unusable(
                "the X server at \(name.socketPath) has no pixels of 8 bits for each colour")
        }
        desktop = try XDesktop(connection, screenNumber: name.screen)
        (window, graphicsContext) = (screen.firstIdentifier | 1, screen.firstIdentifier | 2)
        atoms = Atoms(
            clientList: try connection.atom("_NET_CLIENT_LIST"),
            windowType: try connection.atom("_NET_WM_WINDOW_TYPE"),
            splash: try connection.atom("_NET_WM_WINDOW_TYPE_SPLASH"))
        connection.note = { [unowned self] in note($0) }
        let mask = XConnection.EventMask.propertyChange
        try connection.selectRootEvents(mask)
        windows = Set(try desktop.windows(in: atoms.clientList))
        // With a window manager, these events would come whenever a window is moved.
        let check = try connection.atom("_NET_SUPPORTING_WM_CHECK")
        let manager = try connection.property(
            check, of: screen.root, type: XConnection.Atom.window)
        if manager.isEmpty {
            try connection.selectRootEvents(mask | XConnection.EventMask.substructureNotify)
        }
    }

    // MARK: Windows of others

    func hear() throws(DisplayFailure) -> Bool {
        if try connection.noteEvents() { noted.insert(.clientList) }
        var found = noted
        noted = []
        if found.contains(.expose) { try draw() }
        if found.contains(.clientList) {
            let now = Set(try desktop.windows(in: atoms.clientList))
            if !now.isSubset(of: windows) { found.insert(.end) }
            windows = now
        }
        return found.contains(.end)
    }

    private func note(_ event: [UInt8]) {
        switch XConnection.Event.kind(event) {
        // Each event is for one rectangle; the number of those that follow is at offset 16.
        case XConnection.Event.expose
        where event.word(at: 4) == window && event.half(at: 16) == 0:
            noted.insert(.expose)
        case XConnection.Event.buttonPress where event.word(at: 12) == window: noted.insert(.end)
        // A window that overrides the window manager, such as a menu or a tool tip, does not
        // count.
        case XConnection.Event.mapNotify where event[12] == 0: noted.insert(.end)
        case XConnection.Event.propertyNotify
        where event.word(at: 4) == connection.screen.root
            && event.word(at: 8) == atoms.clientList:
            noted.insert(.clientList)
        case _: break
        }
    }

    // MARK: The screen

    func show(_ screen: ScreenDescription) throws(DisplayFailure) {
        try remove()
        var area = try desktop.area()
        let scale = try desktop.scale()
        if let size = screen.size {
            area = area.middle(width: size.width * scale, height: size.height * scale)
        }
        // Only the visible part of the content is drawn.
        let content = screen.contentSize(scale: scale)
        let (width, height) = (min(content.width, area.width), min(content.height, area.height))
        shown = Shown(
            content: screen.picture(width: width, height: height, scale: scale),
            x: (area.width - width) / 2, y: (area.height - height) / 2)
        try createWindow(area, color: screen.color)
        try describeWindow()
        var context = XConnection.request(55, words: 4)
        for word in [graphicsContext, window, 0] { context.put(word) }
        try connection.send(context)
        try desktop.putAboveManaged(window)
        // MapWindow
        try sendRequest(8, of: window)
    }

    private func describeWindow() throws(DisplayFailure) {
        var type = XConnection.request(18, words: 7)
        for word in [window, atoms.windowType, XConnection.Atom.atom, 32, 1, atoms.splash] {
            type.put(word)
        }
        try connection.send(type)
        let title = Array("Launch screen".utf8)
        var name = XConnection.request(18, words: 6 + (title.count + 3) / 4)
        for word in [window, Self.windowName, XConnection.Atom.string, 8, UInt32(title.count)] {
            name.put(word)
        }
        name += title
        name.pad()
        try connection.send(name)
    }

    private func createWindow(_ area: XDesktop.Area, color: UInt32) throws(DisplayFailure) {
        var request = XConnection.request(1, words: 11)
        request.put(window)
        request.put(connection.screen.root)
        for half in [area.x, area.y, area.width, area.height, 0, 1] {
            request.put(UInt16(truncatingIfNeeded: half))
        }
        // The parent's visual; then the values that follow: the background's pixel,
        // override-redirect, and the event mask. A click on the window does not reach what is below
        // it.
        request.put(UInt32(0))
        request.put(UInt32(1 << 1 | 1 << 9 | 1 << 11))
        request.put(color)
        request.put(UInt32(1))
        request.put(XConnection.EventMask.exposure | XConnection.EventMask.buttonPress)
        try connection.send(request)
    }

    private func draw() throws(DisplayFailure) {
        guard let shown else { return }
        let content = shown.content
        let rowCount = Self.rowsByteLimit / (content.width * 4)
        // A request has no room for even one row.
        guard rowCount > 0 else { return }
        for start in stride(from: 0, to: content.height, by: rowCount) {
            let rows = start..<min(content.height, start + rowCount)
            let pixels = content.values.dropFirst(start * content.width).prefix(
                rows.count * content.width)
            // PutImage, as rows of pixels.
            var request = XConnection.request(72, 2, words: 6 + pixels.count)
            request.put(window)
            request.put(graphicsContext)
            for half in [content.width, rows.count, shown.x, shown.y + start] {
                request.put(UInt16(truncatingIfNeeded: half))
            }
            request += [0, connection.screen.depth, 0, 0]
            for pixel in pixels { request.put(pixel) }
            try connection.send(request)
        }
    }

    func remove() throws(DisplayFailure) {
        guard shown != nil else { return }
        shown = nil
        // FreeGC, DestroyWindow
        try sendRequest(60, of: graphicsContext)
        try sendRequest(4, of: window)
    }

    private func sendRequest(_ opcode: UInt8, of object: UInt32) throws(DisplayFailure) {
        var request = XConnection.request(opcode, words: 2)
        request.put(object)
        try connection.send(request)
    }
}
