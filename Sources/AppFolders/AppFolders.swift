internal import Glibc
public import GreenroomLinux
public import GreenroomManifest

/// The contents of the folders of manifests. As with systemd's units, the first file of a name is
/// used, drop-ins from all folders extend it, and an empty file or a link to /dev/null masks the
/// app.
public struct AppFolders: Sendable {
    /// The folders in order of precedence.
    public let paths: [String]
    /// Decides whose manifests may be read, because a manifest says which user a program runs as.
    private let owners: PathOwners
    /// The folders that could not be read.
    public private(set) var unreadable: [(path: String, reason: String)] = []
    /// The folders that another user could change.
    public private(set) var refused: [(path: String, objection: PathOwners.Objection)] = []

    /// For each file name, the folders that contain it, as indexes into `paths`.
    private var places: [String: [Int]] = [:]
    /// The same for folders of drop-ins, and for folders of enabled apps.
    private var dropInPlaces: [String: [Int]] = [:]
    private var wantPlaces: [StartOccasion: [Int]] = [:]

    /// Reads the names. The files themselves are read when they are needed.
    ///
    /// - Parameter user: the user of the daemon that reads the manifests; nil means this process's
    ///   user.
    public init(_ paths: [String], user: UInt32? = nil) {
        self.paths = paths
        owners = PathOwners(user: user)
        for (index, path) in paths.enumerated() {
            switch owners.objection(to: path) {
            case nil: break
            case .failed(let error)?:
                if error.code != ENOENT {
                    unreadable.append((path, SystemError.text(of: error.code)))
                }
                continue
            case let objection?:
                refused.append((path, objection))
                continue
            }
            do throws(SystemError) {
                for name in try Folder.names(in: path) { note(name, index) }
            } catch {
                unreadable.append((path, SystemError.text(of: error.code)))
            }
        }
    }

    private mutating func note(_ name: String, _ folder: Int) {
        if name.hasSuffix(AppManifest.fileSuffix) {
            places[name, default: []].append(folder)
        } else if name.hasSuffix(Self.dropInSuffix) {
            dropInPlaces[name, default: []].append(folder)
        } else if let occasion = StartOccasion.allCases.first(where: { $0.folder == name }) {
            wantPlaces[occasion, default: []].append(folder)
        }
    }

    /// Whether a daemon would find a manifest or a mask of the app, for a process that cannot ask it. A
    /// folder that only root may read could have one for root's daemon.
    ///
    /// - Parameters:
    ///   - isRoot: whether the daemon is root's.
    ///   - environment: the user's variables.
    public static func haveManifest(
        of app: String, isRoot: Bool, _ environment: [String: String]
    ) -> Bool {
        let folders = AppFolders(SearchPath.paths(environment, isRoot: isRoot))
        return isRoot && !folders.unreadable.isEmpty || folders.file(of: ManifestName(app)) != nil
    }

    static let dropInSuffix = AppManifest.fileSuffix + ".d"
    static let partSuffix = ".conf"

    /// All apps that have a file, sorted. Includes masked apps, but no templates.
    public var names: [ManifestName] {
        files.filter { !$0.isTemplate }
    }

    /// The names of all files, including templates, sorted.
    public var files: [ManifestName] { places.keys.sorted().map { ManifestName(file: $0) } }

    /// The manifest of an app, or that of its template if it has none itself; nil if there is
    /// neither.
    public func file(of name: ManifestName) -> AppFile? {
        for candidate in [name.file, name.templateFile].compactMap(\.self) {
            guard let found = places[candidate], let first = found.first else { continue }
            let path = "\(paths[first])/\(candidate)"
            let target = FileStatus(path: path)
            // A link that leads nowhere is a mistake that must be reported.
            guard let status = target ?? FileStatus(ofLink: path) else { continue }
            var file = AppFile(
                name: name, main: .init(path: path, identity: status.identity),
                isMasked: status.isMask,
                hidden: found.dropFirst().map { "\(paths[$0])/\(candidate)" },
                dropIns: dropIns(of: name))
            file.objection =
                target == nil
                ? .dangling(path: path)
                : objection(to: file, in: paths[first])
                    ?? (status.kind == .other ? .special(path: path) : nil)
            return file
        }
        return nil
    }

    /// Why the file or one of its drop-ins must not be read; nil if they may be. A mask may always
    /// be read, because it contains nothing that an attacker could use.
    private func objection(to file: AppFile, in folder: String) -> PathOwners.Objection? {
        if file.isMasked { return nil }
        if let own = owners.objection(toFile: Folder.split(file.main.path).name, in: folder) {
            return own
        }
        return objection(toDropIns: file.dropIns, of: file.name)
    }

    /// Why drop-ins that ``dropIns(of:)`` has found must not be read; nil if they may be.
    public func objection(
        toDropIns parts: [AppFile.Part], of name: ManifestName
    ) -> PathOwners.Objection? {
        for dropInFolder in name.dropInFolders {
            for index in dropInPlaces[dropInFolder] ?? [] {
                let own = owners.objection(toFile: dropInFolder, in: paths[index])
                if let own, !own.isAbsence { return own }
            }
        }
        for part in parts {
            let (folder, name) = Folder.split(part.path)
            if let own = owners.objection(toFile: name, in: folder) { return own }
        }
        return nil
    }

    /// The drop-ins of an app. Of several drop-ins with the same name, the one in the first folder
    /// is used, and an instance's takes precedence over its template's.
    public func dropIns(of name: ManifestName) -> [AppFile.Part] {
        var chosen: [String: AppFile.Part?] = [:]
        for folder in name.dropInFolders.reversed() {
            for index in dropInPlaces[folder] ?? [] {
                let path = "\(paths[index])/\(folder)"
                for part in (try? Folder.names(in: path)) ?? []
                where part.hasSuffix(Self.partSuffix) && chosen[part] == nil {
                    guard let status = FileStatus(path: "\(path)/\(part)") else { continue }
                    chosen[part] = .some(
                        status.isMask || status.kind != .file
                            ? nil : .init(path: "\(path)/\(part)", identity: status.identity))
                }
            }
        }
        return chosen.sorted { $0.key < $1.key }.compactMap(\.value)
    }

    /// The apps that are enabled for an occasion, from the links in its folders, sorted.
    public func enabled(for occasion: StartOccasion) -> [ManifestName] {
        var isWanted: [String: Bool] = [:]
        for index in wantPlaces[occasion] ?? [] {
            let path = "\(paths[index])/\(occasion.folder)"
            guard owners.objection(toFile: occasion.folder, in: paths[index]) == nil else {
                continue
            }
            for name in (try? Folder.names(in: path)) ?? []
            where name.hasSuffix(AppManifest.fileSuffix) && isWanted[name] == nil {
                isWanted[name] = !(FileStatus(path: "\(path)/\(name)")?.isMask ?? false)
            }
        }
        return isWanted.filter(\.value).keys.sorted().map { ManifestName(file: $0) }
    }
}
