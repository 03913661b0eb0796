public import GreenroomLinux
public import GreenroomManifest
internal import UnitFile

/// Where an app's manifest is: the file that holds, what it hides, and what extends it.
public struct AppFile: Sendable {
    public struct Part: Sendable {
        public var path: String
        public var identity: FileIdentity
    }

    public var name: ManifestName
    /// The first of that name in the order of folders; for an instance, perhaps its template.
    public var main: Part
    /// A link to /dev/null or an empty file: there is no such app.
    public var isMasked: Bool
    /// Files of that name in later folders.
    public var hidden: [String]
    /// Sorted by name across all folders (systemd.unit(5)).
    public var dropIns: [Part]

    /// Why it must not be read: somebody else than the daemon's user could change it, or a drop-in.
    public internal(set) var objection: PathOwners.Objection?

    /// It is a desktop entry that no manifest adds to.
    public var isEntry = false

    /// Of an app that only a desktop entry makes.
    public init(entry: DesktopFolders.Entry) {
        name = ManifestName(verbatim: entry.identifier)
        main = Part(path: entry.path, identity: entry.identity)
        isMasked = false
        hidden = []
        dropIns = []
        isEntry = true
    }

    init(
        name: ManifestName, main: Part, isMasked: Bool, hidden: [String], dropIns: [Part]
    ) {
        self.name = name
        self.main = main
        self.isMasked = isMasked
        self.hidden = hidden
        self.dropIns = dropIns
    }

    public var paths: [String] { [main.path] + dropIns.map(\.path) }

    /// Changes with any file that the manifest is read from.
    public var digest: UInt64 { Self.digest(of: ([main] + dropIns).map { ($0.path, $0.identity) }) }

    /// Another in each process.
    static func digest(of files: [(path: String, identity: FileIdentity)]) -> UInt64 {
        var hasher = Hasher()
        for (path, identity) in files {
            hasher.combine(identity)
            hasher.combine(path)
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The bytes of all files, in the order of their effect.
    public func read() throws(SystemError) -> [ManifestSource] {
        var sources: [ManifestSource] = []
        for path in paths { sources.append(try Self.source(path)) }
        return sources
    }

    /// One file. More bytes than any manifest has are `EFBIG`.
    public static func source(_ path: String) throws(SystemError) -> ManifestSource {
        ManifestSource(
            try Folder.bytes(of: path, atMost: UnitFile.Limit.fileBytes), file: path)
    }
}
