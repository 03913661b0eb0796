internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The folders that an app has for itself, if its manifest asks for them (`Container=`):
///
///     STATE/containers/APP    data that must be kept       STATE_DIRECTORY
///     CACHE/APP/cache         data that can be made again  CACHE_DIRECTORY
///     CACHE/APP/tmp           data that ends with the app  TMPDIR
///
/// Each folder belongs to the app's user, and nobody else may enter it. The folders above them
/// belong to the daemon: everybody may pass through, but only the daemon may list them. The folders
/// are made when a process of the app is made, so that a launch of a paused instance finds them.
struct DataFolders {
    private let state: String
    private let cache: String

    static let stateName = "STATE_DIRECTORY"
    static let cacheName = "CACHE_DIRECTORY"
    static let temporaryName = "TMPDIR"

    init(stateDirectory: String, cacheDirectory: String) {
        state = stateDirectory + "/containers"
        cache = cacheDirectory
    }

    func container(of app: String) -> AppContainer {
        AppContainer(
            state: "\(state)/\(app)", cache: "\(cache)/\(app)/cache",
            temporary: "\(cache)/\(app)/tmp")
    }

    func temporaryFolder(of app: String) -> String { container(of: app).temporary }

    /// The environment variables by which an app finds its folders.
    func environment(of app: String) -> [String] {
        let container = container(of: app)
        return [
            "\(Self.stateName)=\(container.state)", "\(Self.cacheName)=\(container.cache)",
            "\(Self.temporaryName)=\(container.temporary)",
        ]
    }

    // MARK: Making

    func make(for app: InstalledApp) throws(SystemError) {
        let container = container(of: app.identifier.rawValue)
        for path in [state, cache, "\(cache)/\(app.identifier)"] { Self.makePassage(path) }
        for path in [container.state, container.cache, container.temporary] {
            try Self.make(path, for: app)
        }
    }

    /// Makes the folder, and missing folders above it. Everybody may pass through them, whatever
    /// our umask is.
    private static func makePassage(_ path: String) {
        guard unsafe access(path, F_OK) != 0 else { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            let parent = String(path[..<slash])
            if unsafe access(parent, F_OK) != 0 { makePassage(parent) }
        }
        if unsafe mkdir(path, 0o711) == 0 { unsafe chmod(path, 0o711) }
    }

    private static func make(_ path: String, for app: InstalledApp) throws(SystemError) {
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
            throw SystemError(code: errno, call: "mkdir", subject: path)
        }
        guard app.identity.changesUser else { return }
        var status = stat()
        guard unsafe lstat(path, &status) == 0,
            status.st_uid != app.account.user || status.st_gid != app.account.group
        else { return }
        let folder = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard fchown(folder.rawValue, app.account.user, app.account.group) == 0 else {
            throw SystemError(code: errno, call: "fchown", subject: path)
        }
    }
}
