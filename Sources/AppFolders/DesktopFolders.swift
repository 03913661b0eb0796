public import DesktopEntry
public import GreenroomLinux

/// The desktop entries of the search path (Desktop Entry Specification, "Desktop File ID"). If
/// several folders contain an identifier, the entry in the first one is used.
public struct DesktopFolders: Sendable {
    public struct Entry: Sendable {
        public var identifier: String
        public var path: String
        public var identity: FileIdentity

        /// Changes with the file.
        public var digest: UInt64 { AppFile.digest(of: [(path, identity)]) }
    }

    public private(set) var entries: [String: Entry] = [:]
    /// How deeply folders may be nested. Real folders have one or two levels, but links may form
    /// circles.
    private static let depthLimit = 5
    private static let entryLimit = 20_000

    /// The folders and entries that another user could change. They are refused, because an entry
    /// says what is executed.
    public private(set) var refused: [(path: String, objection: PathOwners.Objection)] = []
    private let owners: PathOwners

    /// - Parameters:
    ///   - paths: the folders named `applications`, in order of precedence.
    ///   - user: the user of the daemon that reads the entries; nil means this process's user.
    public init(_ paths: [String], user: UInt32? = nil) {
        owners = PathOwners(user: user)
        for path in paths where mayRead(owners.objection(to: path), path) {
            look(into: path, "", depth: 0)
        }
    }

    private mutating func mayRead(_ objection: PathOwners.Objection?, _ path: String) -> Bool {
        guard let objection else { return true }
        if case .failed = objection { return false }
        if refused.count < Self.refusedLimit { refused.append((path, objection)) }
        return false
    }

    /// At most this many refusals are kept for messages.
    private static let refusedLimit = 20

    private mutating func look(into root: String, _ prefix: String, depth: Int) {
        let names = (try? Folder.names(in: root + "/" + prefix)) ?? []
        for name in names where entries.count < Self.entryLimit {
            let relative = prefix + name
            if let identifier = DesktopEntry.identifier(ofFile: relative) {
                guard entries[identifier] == nil, !Self.isRedirection("\(root)/\(relative)"),
                    let status = FileStatus(path: "\(root)/\(relative)"), status.kind == .file,
                    mayRead(owners.objection(toFile: relative, in: root), "\(root)/\(relative)")
                else { continue }
                entries[identifier] = Entry(
                    identifier: identifier, path: "\(root)/\(relative)", identity: status.identity)
            } else if depth < Self.depthLimit, !name.contains("."),
                FileStatus(path: "\(root)/\(relative)")?.kind == .folder,
                mayRead(owners.objection(toFile: relative, in: root), "\(root)/\(relative)")
            {
                look(into: root, relative + "/", depth: depth + 1)
            }
        }
    }

    /// The folder, below a user's data directory, for entries that start apps through the daemon
    /// (``Redirection``). `applications` has links to these entries. The daemon ignores the links,
    /// and reads the entries that they replace.
    public static let redirections = "greenroom/desktop"

    /// Whether the path is a link to an entry in ``redirections``.
    public static func isRedirection(_ path: String) -> Bool {
        AppFolderChange.target(of: path)?.contains("/\(redirections)/") == true
    }

    /// The identifiers of those entries in `folder` that are links to ``redirections``, sorted.
    public static func redirected(in folder: String) -> [String] {
        ((try? Folder.names(in: folder)) ?? []).filter { isRedirection("\(folder)/\($0)") }
            .compactMap { DesktopEntry.identifier(ofFile: $0) }
    }

    /// The text of an entry.
    public static func bytes(of path: String) throws(SystemError) -> [UInt8] {
        try Folder.bytes(of: path, atMost: DesktopEntry.byteLimit)
    }

    /// Reads an entry; nil if it is not an app.
    public static func read(
        _ entry: Entry, locale: Locale
    ) throws(DesktopEntry.Mistake) -> DesktopEntry? {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Self.bytes(of: entry.path)
        } catch {
            throw .init(line: 0, column: 0, message: SystemError.text(of: error.code))
        }
        return try DesktopEntry.parse(
            bytes, identifier: entry.identifier, file: entry.path, locale: locale)
    }
}

extension SearchPath {
    /// Folders of desktop entries (XDG Base Directory Specification).
    public static func desktop(_ environment: [String: String]) -> [String] {
        let data = environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 }
        let shared = (data ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
        return ([dataHome(environment)].compactMap(\.self) + shared)
            .filter { $0.hasPrefix("/") }.map { $0 + "/applications" }
    }
}
