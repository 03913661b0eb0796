/// A launch screen on an X server: a window that no window manager manages, so it takes no focus
/// and appears in no task bar. The server removes it if this process ends.
///
/// New windows are those in the window manager's list (_NET_CLIENT_LIST of the Extended Window Manager
/// Hints); without such a list, those that are mapped and want to be managed.
final class XScreenDisplay: ScreenDisplay {
    /// A longer list of windows is read up to this length.
    private static let windowLimit: UInt32 = 16 << 10
    /// The predefined atom WM_NAME.
    private static let windowName: UInt32 = 39
    /// In bytes. The longest request that every server takes is 262,140 bytes.
    private static let rowsByteLimit = 256_000

    private struct Atoms {
        let clientList: UInt32
        let workArea: UInt32
        let currentDesktop: UInt32
        let windowType: UInt32
        let splash: UInt32
    }

    private struct Shown {
        let content: Pixels
        let x: Int
        let y: Int
    }

    private let connection: XConnection
    private let atoms: Atoms
    private let window: UInt32
    private let graphicsContext: UInt32
    private var windows: Set<UInt32> = []
    private var shown: Shown?
    private(set) var hasMore = false

    var descriptor: CInt { connection.descriptor }

    init(_ name: XName, _ authority: XAuthority) throws(DisplayFailure) {
        connection = try XConnection(name, authority)
        let screen = connection.screen
        guard screen.hasPlainPixels else {
            throw .unusable(
                "the X server at \(name.socketPath) has no pixels of 8 bits for each colour")
        }
        (window, graphicsContext) = (screen.firstIdentifier | 1, screen.firstIdentifier | 2)
        atoms = Atoms(
            clientList: try connection.atom("_NET_CLIENT_LIST"),
            workArea: try connection.atom("_NET_WORKAREA"),
            currentDesktop: try connection.atom("_NET_CURRENT_DESKTOP"),
            windowType: try connection.atom("_NET_WM_WINDOW_TYPE"),
            splash: try connection.atom("_NET_WM_WINDOW_TYPE_SPLASH"))
        let mask = XConnection.EventMask.propertyChange
        try connection.selectRootEvents(mask)
        windows = try listedWindows()
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
        var hasNewWindow = false
        hasMore = true
        for _ in 0..<Self.messageLimit {
            guard let event = try connection.nextEvent() else {
                hasMore = false
                break
            }
            switch XConnection.Event.kind(event) {
            // Each event is for one rectangle; the number of those that follow is at offset 16.
            case XConnection.Event.expose
            where event.word(at: 4) == window && event.half(at: 16) == 0:
                try draw()
            // The user wants to see what is below.
            case XConnection.Event.buttonPress where event.word(at: 12) == window:
                hasNewWindow = true
            // A window that overrides the window manager, such as a menu or a tool tip, does not
            // count.
            case XConnection.Event.mapNotify where event[12] == 0: hasNewWindow = true
            case XConnection.Event.propertyNotify
            where event.word(at: 4) == connection.screen.root
                && event.word(at: 8) == atoms.clientList:
                let now = try listedWindows()
                if !now.isSubset(of: windows) { hasNewWindow = true }
                windows = now
            case _: break
            }
        }
        return hasNewWindow
    }

    private func listedWindows() throws(DisplayFailure) -> Set<UInt32> {
        let list = try connection.property(
            atoms.clientList, of: connection.screen.root, type: XConnection.Atom.window,
            wordLimit: Self.windowLimit)
        return Set(stride(from: 0, to: list.count, by: 4).map(list.word))
    }

    // MARK: The screen

    private struct Area {
        var x = 0
        var y = 0
        var width: Int
        var height: Int
    }

    /// The area that the panels leave free (_NET_WORKAREA has four words for each virtual desktop).
    private func workArea() throws(DisplayFailure) -> Area {
        let screen = connection.screen
        let desktop = try connection.property(
            atoms.currentDesktop, of: screen.root, type: XConnection.Atom.cardinal
        ).word(at: 0)
        let areas = try connection.property(
            atoms.workArea, of: screen.root, type: XConnection.Atom.cardinal)
        let words = (0..<4).map { Int(areas.word(at: Int(clamping: desktop) % 16 * 16 + $0 * 4)) }
        guard words[2] > 0, words[3] > 0, words[2] <= screen.width, words[3] <= screen.height,
            words[0] <= screen.width - words[2], words[1] <= screen.height - words[3]
        else { return Area(width: screen.width, height: screen.height) }
        return Area(x: words[0], y: words[1], width: words[2], height: words[3])
    }

    func show(_ screen: ScreenDescription) throws(DisplayFailure) {
        try remove()
        var area = try workArea()
        if let size = screen.size {
            let (width, height) = (min(size.width, area.width), min(size.height, area.height))
            area = Area(
                x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2,
                width: width, height: height)
        }
        let content = screen.content
        shown = Shown(
            content: content, x: (area.width - content.width) / 2,
            y: (area.height - content.height) / 2)
        try createWindow(area, color: screen.color)
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
        var context = XConnection.request(55, words: 4)
        for word in [graphicsContext, window, 0] { context.put(word) }
        try connection.send(context)
        // MapWindow
        try sendRequest(8, of: window)
    }

    private func createWindow(_ area: Area, color: UInt32) throws(DisplayFailure) {
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
        // Not even one row fits into a request.
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
