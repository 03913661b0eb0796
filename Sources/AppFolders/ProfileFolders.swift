public import GreenroomLinux
public import GreenroomManifest
public import UnitFile

/// The profiles in the folders of profiles. As with manifests, the first file of a name is used,
/// and a link to /dev/null or an empty file masks it.
public struct ProfileFolders: Sendable {
    public let paths: [String]
    public private(set) var profiles = Profiles()
    /// The errors in profiles, which are then ignored.
    public private(set) var diagnostics: [Diagnostic] = []
    /// The folders and files that another user could change.
    public private(set) var refused: [(path: String, objection: PathOwners.Objection)] = []
    /// Changes with any profile.
    public let digest: UInt64

    /// Far more than the number of desktop programs that have been tried.
    private static let countLimit = 1_000

    /// - Parameters:
    ///   - user: the user of the daemon that reads the profiles; nil means this process's user.
    ///   - former: an earlier reading of the same folders. Nothing is read again if no file has
    ///     changed.
    public init(_ paths: [String], user: UInt32? = nil, former: ProfileFolders? = nil) {
        self.paths = paths
        let owners = PathOwners(user: user)
        var files: [String: (path: String, status: FileStatus)] = [:]
        for folder in paths {
            if let objection = owners.objection(to: folder) {
                if !objection.isAbsence { refused.append((folder, objection)) }
                continue
            }
            for name in (try? Folder.names(in: folder)) ?? []
            where name.hasSuffix(Profile.fileSuffix) && files[name] == nil
                && files.count < Self.countLimit
            {
                let path = "\(folder)/\(name)"
                guard let status = FileStatus(path: path) else { continue }
                if !status.isMask, let objection = owners.objection(toFile: name, in: folder) {
                    refused.append((path, objection))
                    continue
                }
                files[name] = (path, status)
            }
        }
        let counting = files.sorted { $0.key < $1.key }.map(\.value)
        digest = AppFile.digest(of: counting.map { ($0.path, $0.status.identity) })
        if let former, former.digest == digest {
            (profiles, diagnostics) = (former.profiles, former.diagnostics)
            return
        }
        for file in counting where !file.status.isMask {
            read(file.path, file.status)
        }
    }

    private mutating func read(_ path: String, _ status: FileStatus) {
        guard status.kind == .file else {
            refused.append((path, .special(path: path)))
            return
        }
        do throws(SystemError) {
            let bytes = try Folder.bytes(of: path, atMost: Profile.Limit.fileBytes)
            let (profile, found) = Profile.parse(bytes, file: path)
            diagnostics += found
            if let profile { profiles.all.append(profile) }
        } catch {
            diagnostics.append(
                Diagnostic(
                    severity: .error, file: path, position: Position(line: 0, column: 0),
                    message: SystemError.text(of: error.code)))
        }
    }
}

extension SearchPath {
    /// The folders of profiles: the user's own, which only the user's daemon reads, the
    /// administrator's, and the vendor's.
    public static func profiles(_ environment: [String: String], isRoot: Bool) -> [String] {
        let own = isRoot ? [] : [configurationHome(environment)].compactMap(\.self)
        return (own.filter { $0.hasPrefix("/") } + ["/etc"] + vendor)
            .map { $0 + "/greenroom/profiles" }
    }
}
