/// The settings of an X display: those of its settings manager (XSETTINGS, "Cross-Desktop Settings
/// Protocol"), the resource database (X(7), RESOURCES), and the outputs (the RandR extension).
final class XSettings: SettingsServer {
    /// In words. The resources of a desktop with all its toolkits have some kilobytes.
    static let propertyLimit: UInt32 = 64 << 10
    /// Events of the RandR extension: the screen's size, and what each output shows.
    private static let outputEvents: UInt16 = 7
    /// Events of the XFIXES extension: a new owner of a selection, and the end of the former one.
    private static let ownerEvents: UInt32 = 7

    private let connection: XConnection
    /// The selection whose owner is the settings manager, and the property of the owner's window
    /// that has the settings.
    private let selection: UInt32
    private let settings: UInt32
    private let outputs: UInt8?
    private let owners: UInt8?
    private var manager: UInt32 = 0
    /// The appearance that the last manager with settings has set. A restart of it changes nothing.
    private var appearanceByManager = XSettingsText.appearance(in: [])
    /// What the events since the last `hear` were about.
    private var (hasNewOwner, hasChanged) = (false, false)

    var descriptor: CInt { connection.descriptor }
    var hasMore: Bool { hasNewOwner || hasChanged || connection.hasReceived }

    init(_ name: XName, _ authority: XAuthority) throws(DisplayFailure) {
        connection = try XConnection(name, authority, patience: Self.patience)
        selection = try connection.atom("_XSETTINGS_S\(name.screen)")
        settings = try connection.atom("_XSETTINGS_SETTINGS")
        outputs = try Self.selectOutputs(connection)
        owners = try Self.selectOwners(of: selection, connection)
        connection.note = { [unowned self] in note($0) }
        try connection.selectRootEvents(XConnection.EventMask.propertyChange)
        try findManager()
    }

    private static func selectOutputs(
        _ connection: XConnection
    ) throws(DisplayFailure) -> UInt8? {
        guard let randr = try connection.extension("RANDR") else { return nil }
        // RRQueryVersion: this client speaks 1.2. RRSelectInput.
        var version = XConnection.request(randr.opcode, 0, words: 3)
        for word: UInt32 in [1, 2] { version.put(word) }
        guard try connection.reply(to: version) != nil else { return nil }
        var selected = XConnection.request(randr.opcode, 4, words: 3)
        selected.put(connection.screen.root)
        selected.put(outputEvents)
        selected.put(UInt16(0))
        try connection.send(selected)
        return randr.firstEvent
    }

    /// Another client could make up the message by which a settings manager announces itself, and
    /// that would be lost while an answer is awaited.
    private static func selectOwners(
        of selection: UInt32, _ connection: XConnection
    ) throws(DisplayFailure) -> UInt8? {
        guard let fixes = try connection.extension("XFIXES") else { return nil }
        // XFixesQueryVersion: this client speaks 1.0. XFixesSelectSelectionInput.
        var version = XConnection.request(fixes.opcode, 0, words: 3)
        for word: UInt32 in [1, 0] { version.put(word) }
        guard try connection.reply(to: version) != nil else { return nil }
        var selected = XConnection.request(fixes.opcode, 2, words: 4)
        for word in [connection.screen.root, selection, ownerEvents] { selected.put(word) }
        try connection.send(selected)
        return fixes.firstEvent
    }

    /// The manager is asked for again once its events are selected: another may have come meanwhile.
    private func findManager() throws(DisplayFailure) {
        manager = 0
        while true {
            let owner = try connection.owner(of: selection)
            if owner == manager { return }
            manager = owner
            try connection.selectEvents(XConnection.EventMask.propertyChange, of: owner)
        }
    }

    func hear() throws(DisplayFailure) -> Bool {
        _ = try connection.noteEvents(pausesFloods: false)
        defer { hasChanged = false }
        if hasNewOwner {
            hasNewOwner = false
            try findManager()
            return true
        }
        return hasChanged
    }

    private func note(_ event: [UInt8]) {
        let kind = XConnection.Event.kind(event)
        switch kind {
        case XConnection.Event.propertyNotify: if isSetting(event) { hasChanged = true }
        case _ where kind == owners: hasNewOwner = true
        // RRScreenChangeNotify, RRNotify
        case _ where outputs.map { $0...$0 + 1 ~= kind } == true: hasChanged = true
        case _: break
        }
    }

    private func isSetting(_ event: [UInt8]) -> Bool {
        let (window, property) = (event.word(at: 4), event.word(at: 8))
        return window == manager && property == settings
            || window == connection.screen.root && property == XConnection.Atom.resourceManager
    }

    func appearance() throws(DisplayFailure) -> Appearance {
        let resources = try connection.property(
            XConnection.Atom.resourceManager, of: connection.screen.root,
            type: XConnection.Atom.string, wordLimit: Self.propertyLimit)
        let ofResources = XResources.dotsPerInch(in: resources) ?? XResources.usualDotsPerInch
        if manager != 0 {
            let bytes = try connection.property(
                settings, of: manager, type: settings, wordLimit: Self.propertyLimit)
            if !bytes.isEmpty { appearanceByManager = XSettingsText.appearance(in: bytes) }
        }
        var appearance = appearanceByManager
        appearance.scales.append(ofResources)
        return appearance
    }
}

enum XResources {
    /// The resolution that toolkits assume if nothing says it.
    static let usualDotsPerInch = 96.0

    /// The value of `Xft.dpi`, by which toolkits scale; nil if there is none.
    static func dotsPerInch(in resources: [UInt8]) -> Double? {
        for line in resources.split(separator: UInt8(ascii: "\n")) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "Xft.dpi" else { continue }
            let value = Double(parts[1].drop { $0 == " " || $0 == "\t" })
            // NaN would never be equal to itself.
            return value.flatMap { $0.isFinite ? $0 : nil }
        }
        return nil
    }
}

/// How many pixels toolkits use where an ordinary display has one.
enum XScale {
    /// Toolkits are not tried with more.
    private static let limit = 4.0

    /// The scale as a whole number, because pictures cannot be scaled by fractions.
    ///
    /// - Parameters:
    ///   - resources: the resource database.
    ///   - settings: the settings manager's settings; empty if there is none.
    static func whole(resources: [UInt8], settings: [UInt8]) -> Int {
        let scales = XSettingsText.appearance(in: settings).scales
        let ofResources = XResources.dotsPerInch(in: resources) ?? 0
        let dotsPerInch = scales[0] > 0 ? scales[0] / 1024 : ofResources
        let ofText = (dotsPerInch / XResources.usualDotsPerInch).rounded()
        return Int(min(max(1, ofText, scales[1]), limit))
    }
}

/// The bytes of a settings manager's property.
enum XSettingsText {
    private static let scales = ["Xft/DPI", "Gdk/WindowScalingFactor", "Gdk/UnscaledDPI"]
    private static let names = ["Net/ThemeName", "Gtk/FontName", "Gtk/ColorScheme"]

    /// Damaged text has no values after the damage.
    static func appearance(in bytes: [UInt8]) -> Appearance {
        var reader = Reader(bytes: bytes)
        var found = Appearance(scales: scales.map { _ in 0 }, names: names.map { _ in "" })
        // The serial number of the text, and the number of settings.
        guard reader.skip(8), let count = reader.word() else { return found }
        for _ in 0..<count {
            guard let (name, value) = reader.setting() else { break }
            switch value {
            case .number(let number):
                if let at = scales.firstIndex(of: name) { found.scales[at] = Double(number) }
            case .text(let text):
                if let at = names.firstIndex(of: name) { found.names[at] = text }
            case .color: break
            }
        }
        return found
    }

    private enum Value {
        case number(Int32)
        case text(String)
        case color
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        /// The first byte says how numbers are written: 1 for the most significant byte first.
        private var isBigEndian: Bool { bytes.first == 1 }

        mutating func skip(_ count: Int) -> Bool {
            guard count <= bytes.count - at else { return false }
            at += count
            return true
        }

        mutating func word() -> UInt32? {
            let start = at
            guard skip(4) else { return nil }
            let word = bytes.word(at: start)
            return isBigEndian ? word.byteSwapped : word
        }

        mutating func text(_ length: Int) -> String? {
            let start = at
            guard skip((length + 3) / 4 * 4) else { return nil }
            return String(decoding: bytes[start..<start + length], as: UTF8.self)
        }

        mutating func setting() -> (name: String, value: Value)? {
            let start = at
            guard skip(4) else { return nil }
            let (low, high) = (Int(bytes[start + 2]), Int(bytes[start + 3]))
            let length = isBigEndian ? low << 8 | high : high << 8 | low
            // After the name comes the serial number of the last change.
            guard let name = text(length), skip(4) else { return nil }
            switch bytes[start] {
            case 0: return word().map { (name, .number(Int32(bitPattern: $0))) }
            case 1:
                guard let length = word(), let text = text(Int(length)) else { return nil }
                return (name, .text(text))
            case _: return skip(8) ? (name, .color) : nil
            }
        }
    }
}
