/// What an X server, its window manager and its settings manager say about the place for a launch
/// screen.
struct XDesktop {
    struct Area: Hashable, Sendable {
        var x = 0
        var y = 0
        var width: Int
        var height: Int

        func contains(x: Int, y: Int) -> Bool {
            self.x..<self.x + width ~= x && self.y..<self.y + height ~= y
        }

        /// Nil if the areas have nothing in common.
        func overlap(_ other: Area) -> Area? {
            let (left, top) = (max(x, other.x), max(y, other.y))
            let right = min(x + width, other.x + other.width)
            let bottom = min(y + height, other.y + other.height)
            guard left < right, top < bottom else { return nil }
            return Area(x: left, y: top, width: right - left, height: bottom - top)
        }

        /// An area of that size, or as much of it as fits, in the middle of this one.
        func middle(width: Int, height: Int) -> Area {
            let (width, height) = (min(width, self.width), min(height, self.height))
            return Area(
                x: x + (self.width - width) / 2, y: y + (self.height - height) / 2, width: width,
                height: height)
        }
    }

    private struct Atoms {
        let workArea: UInt32
        let currentDesktop: UInt32
        let stacking: UInt32
        let settingsManager: UInt32
        let settings: UInt32
    }

    /// A longer list of windows is read up to this length.
    private static let windowLimit: UInt32 = 16 << 10
    /// How many windows are asked for what they are, from the uppermost. Above the managed ones there
    /// are only menus and the like.
    private static let questionLimit = 256
    /// A window manager puts a window into a frame or two.
    private static let frameLimit = 8

    private let connection: XConnection
    private let atoms: Atoms
    /// The RandR extension's opcode; nil if it does not tell monitors (before 1.5).
    private let randr: UInt8?

    init(_ connection: XConnection, screenNumber: Int) throws(DisplayFailure) {
        self.connection = connection
        atoms = Atoms(
            workArea: try connection.atom("_NET_WORKAREA"),
            currentDesktop: try connection.atom("_NET_CURRENT_DESKTOP"),
            stacking: try connection.atom("_NET_CLIENT_LIST_STACKING"),
            settingsManager: try connection.atom("_XSETTINGS_S\(screenNumber)"),
            settings: try connection.atom("_XSETTINGS_SETTINGS"))
        randr = try Self.randr(of: connection)
    }

    private static func randr(of connection: XConnection) throws(DisplayFailure) -> UInt8? {
        guard let opcode = try connection.extension("RANDR")?.opcode else { return nil }
        // RRQueryVersion: this client speaks 1.5.
        var version = XConnection.request(opcode, 0, words: 3)
        for word: UInt32 in [1, 5] { version.put(word) }
        guard let known = try connection.reply(to: version) else { return nil }
        return (known.word(at: 8), known.word(at: 12)) >= (1, 5) ? opcode : nil
    }

    /// A property of the root window with the numbers of windows.
    func windows(in list: UInt32) throws(DisplayFailure) -> [UInt32] {
        let bytes = try connection.property(
            list, of: connection.screen.root, type: XConnection.Atom.window,
            wordLimit: Self.windowLimit)
        return stride(from: 0, to: bytes.count, by: 4).map(bytes.word)
    }

    // MARK: The area

    /// The part of the pointer's monitor that the panels leave free. Mutter and others open new
    /// windows on that monitor.
    func area() throws(DisplayFailure) -> Area {
        let monitor = try monitor()
        return try workArea().flatMap(monitor.overlap) ?? monitor
    }

    private func monitor() throws(DisplayFailure) -> Area {
        let screen = connection.screen
        let whole = Area(width: screen.width, height: screen.height)
        guard let randr else { return whole }
        // RRGetMonitors: those that are in use
        var request = XConnection.request(randr, 42, words: 3)
        request.put(screen.root)
        request.put(UInt32(1))
        guard let reply = try connection.reply(to: request) else { return whole }
        var monitors: [Area] = []
        var offset = 32
        for _ in 0..<reply.word(at: 12) {
            guard offset < reply.count else { break }
            monitors.append(
                Area(
                    x: reply.signed(at: offset + 8), y: reply.signed(at: offset + 10),
                    width: Int(reply.half(at: offset + 12)),
                    height: Int(reply.half(at: offset + 14))))
            // A monitor's description ends with its outputs.
            offset += 24 + 4 * Int(reply.half(at: offset + 6))
        }
        monitors.removeAll { $0.width == 0 || $0.height == 0 }
        let (x, y) = try pointer()
        return monitors.first { $0.contains(x: x, y: y) } ?? monitors.first ?? whole
    }

    private func pointer() throws(DisplayFailure) -> (x: Int, y: Int) {
        // QueryPointer
        var request = XConnection.request(38, words: 2)
        request.put(connection.screen.root)
        guard let reply = try connection.reply(to: request) else { return (0, 0) }
        return (reply.signed(at: 16), reply.signed(at: 18))
    }

    /// What the panels leave free, of all monitors together (_NET_WORKAREA has four words for each
    /// virtual desktop). Nil if nobody says it.
    private func workArea() throws(DisplayFailure) -> Area? {
        let root = connection.screen.root
        let desktop = try connection.property(
            atoms.currentDesktop, of: root, type: XConnection.Atom.cardinal
        ).word(at: 0)
        let areas = try connection.property(
            atoms.workArea, of: root, type: XConnection.Atom.cardinal)
        let words = (0..<4).map { Int(areas.word(at: Int(clamping: desktop) % 16 * 16 + $0 * 4)) }
        return Area(x: words[0], y: words[1], width: words[2], height: words[3])
    }

    // MARK: The scale

    func scale() throws(DisplayFailure) -> Int {
        let resources = try connection.property(
            XConnection.Atom.resourceManager, of: connection.screen.root,
            type: XConnection.Atom.string, wordLimit: XSettings.propertyLimit)
        let manager = try connection.owner(of: atoms.settingsManager)
        let settings =
            manager == 0
            ? []
            : try connection.property(
                atoms.settings, of: manager, type: atoms.settings,
                wordLimit: XSettings.propertyLimit)
        return XScale.whole(resources: resources, settings: settings)
    }

    // MARK: The order of windows

    /// Puts a window just above the managed ones; at the bottom if there are none. So it never lies
    /// above a screen locker, whichever of the two appears first.
    func putAboveManaged(_ window: UInt32) throws(DisplayFailure) {
        // The window must not stay on top if the other one is gone by then.
        try configure(window, bits: 1 << 6, StackMode.below)
        if let sibling = try highestManaged() {
            try configure(window, bits: 1 << 5 | 1 << 6, sibling, StackMode.above)
        }
    }

    private enum StackMode {
        static let above: UInt32 = 0
        static let below: UInt32 = 1
    }

    /// ConfigureWindow. The bits say which values follow: a sibling, and the stack mode.
    private func configure(_ window: UInt32, bits: UInt32, _ values: UInt32...)
        throws(DisplayFailure)
    {
        var request = XConnection.request(12, words: 3 + values.count)
        for word in [window, bits] + values { request.put(word) }
        try connection.send(request)
    }

    private func highestManaged() throws(DisplayFailure) -> UInt32? {
        // A window may be gone by now.
        for window in try windows(in: atoms.stacking).suffix(Self.frameLimit).reversed() {
            if let top = try frame(of: window) { return top }
        }
        // Without a window manager, this is the highest window that wants to be managed.
        let children = try tree(of: connection.screen.root)?.children ?? []
        for child in children.suffix(Self.questionLimit).reversed() {
            // GetWindowAttributes
            var request = XConnection.request(3, words: 2)
            request.put(child)
            guard let reply = try connection.reply(to: request) else { continue }
            let (isViewable, overridesManager) = (reply[26] == 2, reply[27] == 1)
            if isViewable, !overridesManager { return child }
        }
        return nil
    }

    /// The root's child that the window is in.
    private func frame(of window: UInt32) throws(DisplayFailure) -> UInt32? {
        var window = window
        for _ in 0..<Self.frameLimit {
            guard let parent = try tree(of: window)?.parent else { return nil }
            if parent == connection.screen.root { return window }
            window = parent
        }
        return nil
    }

    private func tree(
        of window: UInt32
    ) throws(DisplayFailure) -> (parent: UInt32, children: [UInt32])? {
        // QueryTree. The children come from the lowest to the highest.
        var request = XConnection.request(15, words: 2)
        request.put(window)
        guard let reply = try connection.reply(to: request) else { return nil }
        return (
            reply.word(at: 12),
            stride(from: 32, to: reply.count, by: 4).map(reply.word)
        )
    }
}

extension [UInt8] {
    /// A coordinate, which may be negative.
    fileprivate func signed(at offset: Int) -> Int {
        Int(Int16(bitPattern: half(at: offset)))
    }
}
