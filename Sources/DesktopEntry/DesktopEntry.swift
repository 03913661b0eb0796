/// An app as its desktop entry describes it (Desktop Entry Specification 1.5), with the values for
/// one locale. It contains only the keys that a launcher needs.
public struct DesktopEntry: Hashable, Sendable {
    /// The path of the file below `applications`, with `-` instead of `/`, and without `.desktop`.
    public var identifier: String
    public var file: String
    public var name: String
    public var icon: String?
    /// Nil if the app is started only over D-Bus.
    public var command: Command?
    /// `TryExec=`: the app exists only if this program does.
    public var tryExec: String?
    /// `Path=`: the working directory.
    public var path: String?
    /// Whether the app runs in a terminal.
    public var isTerminal = false
    /// Whether menus do not show the app. It can still be launched.
    var isNotDisplayed = false
    /// `Hidden=`: whether the entry must be treated as if it did not exist.
    public var isHidden = false
    public var onlyShowIn: [String] = []
    public var notShowIn: [String] = []
    public var startupWMClass: String?
    public var isDBusActivatable = false
    public var actions: [Action] = []
    /// The file of the entry of which this one is a copy that starts the app by another program
    /// (``Redirection``); nil if this is no such copy.
    public var original: String?

    /// One of the actions in `Actions=`, with its group.
    public struct Action: Hashable, Sendable {
        public var identifier: String
        public var name: String
        public var icon: String?
        public var command: Command?
    }

    /// An error in a file and its position. The file is then not used.
    public struct Mistake: Error, Hashable, Sendable {
        public var line: Int
        public var column: Int
        public var message: String

        public init(line: Int, column: Int, message: String) {
            self.line = line
            self.column = column
            self.message = message
        }
    }

    /// Whether a desktop environment with these names (XDG_CURRENT_DESKTOP) shows the app in menus.
    public func isShown(in desktops: [String]) -> Bool {
        guard !isNotDisplayed, !isHidden else { return false }
        // The first name that is in either list decides.
        for desktop in desktops {
            if onlyShowIn.contains(desktop) { return true }
            if notShowIn.contains(desktop) { return false }
        }
        return onlyShowIn.isEmpty
    }

    /// The identifier of a file, from its path below `applications`; nil if it is not a desktop
    /// entry.
    public static func identifier(ofFile path: String) -> String? {
        guard path.hasSuffix(fileSuffix) else { return nil }
        let name = path.dropLast(fileSuffix.count)
        let isName =
            !name.isEmpty && name.utf8.count <= 200
            && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
        return isName ? String(name.map { $0 == "/" ? "-" : $0 }) : nil
    }

    public static let fileSuffix = ".desktop"
}
