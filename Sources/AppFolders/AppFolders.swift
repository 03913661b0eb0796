internal import Glibc
public import GreenroomLinux
public import GreenroomManifest

/// What lies in the folders of manifests, by systemd's rules for units: the first file of a name
/// holds, drop-ins of all folders extend it, an empty file or a link to /dev/null masks.
public struct AppFolders: Sendable {
    /// In order of precedence.
    public let paths: [String]
    /// Whose manifests may be read: a manifest says as whom a program runs.
    private let owners: PathOwners
    /// Folders that could not be read.
    public private(set) var unreadable: [(path: String, reason: String)] = []
    /// Folders that somebody else could change.
    public private(set) var refused: [(path: String, objection: PathOwners.Objection)] = []

    /// The folders, by index in `paths`, that have a file of the name.
    private var places: [String: [Int]] = [:]
    /// The same for folders of drop-ins, and for those of enabled apps.
    private var dropInPlaces: [String: [Int]] = [:]
    private var wantPlaces: [StartOccasion: [Int]] = [:]

    /// Reads the names; the files themselves when they are asked for.
    ///
    /// - Parameter user: whom the daemon runs as that reads them; nil is whom this process runs as.
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

    static let dropInSuffix = AppManifest.fileSuffix + ".d"
    public static let partSuffix = ".conf"

    /// Every app that a file makes, without templates; masked ones too. Sorted.
    public var names: [ManifestName] {
        files.filter { !$0.isTemplate }
    }

    /// Every file's name, templates included. Sorted.
    public var files: [ManifestName] { places.keys.sorted().map { ManifestName(file: $0) } }

    /// The manifest of an app, that of its template if it has none itself; nil if there is neither.
    public func file(of name: ManifestName) -> AppFile? {
        for candidate in [name.file, name.templateFile].compactMap(\.self) {
            guard let found = places[candidate], let first = found.first else { continue }
            let path = "\(paths[first])/\(candidate)"
            guard let status = FileStatus(path: path) else { continue }
            var file = AppFile(
                name: name, main: .init(path: path, identity: status.identity),
                isMasked: status.isMask,
                hidden: found.dropFirst().map { "\(paths[$0])/\(candidate)" },
                dropIns: dropIns(of: name))
            file.objection = objection(to: file, in: paths[first])
            return file
        }
        return nil
    }

    /// Why the file, or a drop-in of it, must not be read; nil if it may be. A mask says nothing that
    /// anybody could want to.
    private func objection(to file: AppFile, in folder: String) -> PathOwners.Objection? {
        if file.isMasked { return nil }
        if let own = owners.objection(toFile: Folder.split(file.main.path).name, in: folder) {
            return own
        }
        for dropInFolder in file.name.dropInFolders {
            for index in dropInPlaces[dropInFolder] ?? [] {
                let own = owners.objection(toFile: dropInFolder, in: paths[index])
                if let own, !own.isAbsence { return own }
            }
        }
        for part in file.dropIns {
            let (folder, name) = Folder.split(part.path)
            if let own = owners.objection(toFile: name, in: folder) { return own }
        }
        return nil
    }

    /// Of one name in several folders the first holds, and an instance's before its template's.
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

    /// The apps that are enabled for an occasion: the links in its folders, sorted.
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
