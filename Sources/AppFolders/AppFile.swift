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

    public var paths: [String] { [main.path] + dropIns.map(\.path) }

    /// Changes with any file that the manifest is read from.
    public var digest: UInt64 {
        // FNV-1a: equal in every process.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for part in [main] + dropIns {
            let identity = part.identity
            let fields = [
                identity.device, identity.inode, UInt64(bitPattern: identity.byteCount),
                UInt64(bitPattern: identity.modified), UInt64(bitPattern: identity.changed),
            ]
            for field in fields { hash = (hash ^ field) &* 0x100_0000_01b3 }
            for byte in part.path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return hash
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
