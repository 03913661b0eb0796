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
                let path = "\(root)/\(relative)"
                guard !Self.isLink(path), let status = FileStatus(path: path),
                    status.kind == .file, !isHidden(identifier, status.identity),
                    mayRead(owners.objection(toFile: relative, in: root), path)
                else { continue }
                entries[identifier] = Entry(
                    identifier: identifier, path: path, identity: status.identity)
            } else if depth < Self.depthLimit, !name.contains("."),
                FileStatus(path: "\(root)/\(relative)")?.kind == .folder,
                mayRead(owners.objection(toFile: relative, in: root), "\(root)/\(relative)")
            {
                look(into: root, relative + "/", depth: depth + 1)
            }
        }
    }

    /// Whether a file is hidden by one of an earlier folder. A redirection hides none. Only entries
    /// that hide others are read for this, which are few.
    private func isHidden(_ identifier: String, _ file: FileIdentity) -> Bool {
        guard let former = entries[identifier] else { return false }
        return former.identity == file || Self.redirectedApp(former.path) == nil
    }

    /// The folder, below a user's data directory, for entries that start apps through the daemon
    /// (``Redirection``). `applications` has links to these entries. The daemon ignores the links,
    /// and reads the entries that they replace.
    public static let redirections = "greenroom/desktop"

    /// Whether the path is a link to an entry in ``redirections``.
    public static func isLink(_ path: String) -> Bool {
        AppFolderChange.target(of: path)?.contains("/\(redirections)/") == true
    }

    /// Whether the path is a link to an entry in ``redirections``, or a copy of such an entry: an
    /// editor, or a program that copies folders, may have put a file in place of the link.
    public static func isRedirection(_ path: String) -> Bool {
        isLink(path) || redirectedApp(path) != nil
    }

    /// The app that the entry at a path starts through the daemon; nil if the entry does not.
    public static func redirectedApp(_ path: String) -> String? {
        let locale = Locale(environment: [:])
        guard let bytes = try? bytes(of: path),
            let entry = try? DesktopEntry.parse(bytes, identifier: "", file: path, locale: locale)
        else { return nil }
        return entry.redirectedApp
    }

    /// The identifiers of those entries in `folder` that start apps through the daemon, sorted.
    public static func redirected(in folder: String) -> [String] {
        ((try? Folder.names(in: folder)) ?? [])
            .filter { $0.hasSuffix(DesktopEntry.fileSuffix) && isRedirection("\(folder)/\($0)") }
            .compactMap { DesktopEntry.identifier(ofFile: $0) }
    }

    /// The text of an entry.
    public static func bytes(of path: String) throws(SystemError) -> [UInt8] {
        try Folder.bytes(of: path, atMost: DesktopEntry.byteLimit)
    }

    /// Reads an entry; nil if it is not an app, or if it starts the app through the daemon.
    public static func read(
        _ entry: Entry, locale: Locale
    ) throws(DesktopEntry.Mistake) -> DesktopEntry? {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Self.bytes(of: entry.path)
        } catch {
            throw .init(line: 0, column: 0, message: SystemError.text(of: error.code))
        }
        let found = try DesktopEntry.parse(
            bytes, identifier: entry.identifier, file: entry.path, locale: locale)
        return found?.redirectedApp == nil ? found : nil
    }
}

extension SearchPath {
    /// Folders of desktop entries.
    public static func desktop(_ environment: [String: String]) -> [String] {
        data(environment).map { $0 + "/applications" }
    }

    /// Folders of data, the user's own first (XDG Base Directory Specification).
    public static func data(_ environment: [String: String]) -> [String] {
        let data = environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 }
        let shared = (data ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
        return ([dataHome(environment)].compactMap(\.self) + shared).filter { $0.hasPrefix("/") }
    }
}
