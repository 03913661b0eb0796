public import GreenroomLinux
public import GreenroomManifest
internal import UnitFile

/// The files of an app's manifest: the file in effect, the files that it hides, and its drop-ins.
public struct AppFile: Sendable {
    public struct Part: Sendable {
        public var path: String
        public var identity: FileIdentity
    }

    public var name: ManifestName
    /// The first file of that name in the order of folders. For an instance, this may be the
    /// template.
    public var main: Part
    /// Whether the app is masked, by a link to /dev/null or an empty file, and so does not exist.
    public var isMasked: Bool
    /// The files of that name in later folders.
    public var hidden: [String]
    /// The drop-ins, sorted by name across all folders (systemd.unit(5)).
    public var dropIns: [Part]

    /// Why the manifest must not be read: a user other than the daemon's could change it or a
    /// drop-in.
    public internal(set) var objection: PathOwners.Objection?

    /// Whether this is a desktop entry without a manifest.
    public var isEntry = false

    /// Creates the value for an app that comes only from a desktop entry.
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

    /// Changes with any file from which the manifest is read.
    public var digest: UInt64 { Self.digest(of: ([main] + dropIns).map { ($0.path, $0.identity) }) }

    /// A hash of the files. It is different in each process.
    static func digest(of files: [(path: String, identity: FileIdentity)]) -> UInt64 {
        var hasher = Hasher()
        for (path, identity) in files {
            hasher.combine(identity)
            hasher.combine(path)
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Reads all files, in the order in which they take effect.
    public func read() throws(SystemError) -> [ManifestSource] {
        var sources: [ManifestSource] = []
        for path in paths { sources.append(try Self.source(path)) }
        return sources
    }

    /// Reads one file. Throws `EFBIG` if it has more bytes than any real manifest.
    public static func source(_ path: String) throws(SystemError) -> ManifestSource {
        ManifestSource(
            try Folder.bytes(of: path, atMost: UnitFile.Limit.fileBytes), file: path)
    }
}
