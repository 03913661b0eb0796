/// An app as its desktop entry describes it (Desktop Entry Specification 1.5), with values in one
/// locale. Only what a launcher needs is kept.
public struct DesktopEntry: Hashable, Sendable {
    /// The name of the file below `applications`, `/` as `-`, without `.desktop`.
    public var identifier: String
    public var file: String
    public var name: String
    public var comment: String?
    public var icon: String?
    /// Nil if it is started over D-Bus alone.
    public var command: Command?
    /// `TryExec=`: if this program is not there, neither is the app.
    public var tryExec: String?
    /// `Path=`: the working directory.
    public var path: String?
    /// It runs in a terminal.
    public var isTerminal = false
    /// Not for menus; it can be launched all the same.
    public var isNotDisplayed = false
    /// `Hidden=`: as if it were not there.
    public var isHidden = false
    public var onlyShowIn: [String] = []
    public var notShowIn: [String] = []
    public var startupWMClass: String?
    public var isDBusActivatable = false
    public var mimeTypes: [String] = []
    public var actions: [Action] = []

    /// One of `Actions=`, with its group.
    public struct Action: Hashable, Sendable {
        public var identifier: String
        public var name: String
        public var icon: String?
        public var command: Command?
    }

    /// What is wrong with a file, and where. It is not used then.
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

    /// Whether a desktop environment shows it, by the names of XDG_CURRENT_DESKTOP.
    public func isShown(in desktops: [String]) -> Bool {
        guard !isNotDisplayed, !isHidden else { return false }
        // The first name that either list knows decides.
        for desktop in desktops {
            if onlyShowIn.contains(desktop) { return true }
            if notShowIn.contains(desktop) { return false }
        }
        return onlyShowIn.isEmpty
    }

    /// The identifier of a file, by its path below the folder `applications`; nil for another file.
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
