internal import CGreenroomLinux
public import Glibc

/// Decides which files a privileged daemon may open by their names, depending on who owns them.
///
/// The owner of a folder decides what the names in it mean. A daemon that runs as root and opens a
/// path below a user's folder opens whatever that user wants, for example through a link. So each
/// folder and each link on the way is checked: it must belong to root or to the daemon's own user,
/// and must not be writable by everybody. In a folder with the sticky bit (/tmp) each name belongs
/// to its owner. After these checks, nobody else can replace what was checked, so the path may be
/// opened.
///
/// Groups are trusted: root, or the user, gave them the right to write.
public struct PathOwners: Sendable {
    /// Why a path must not be opened.
    public enum Objection: Error, Equatable, Sendable, CustomStringConvertible {
        case foreign(path: String, owner: UInt32)
        case writableByAll(path: String)
        /// A file system that is mounted in a place where everybody may mount: its server might
        /// never answer (fuse(4)).
        case mounted(path: String)
        /// The path is on a file system that a process of this user serves.
        case served(path: String, user: UInt32)
        /// What is at the path is not a file, and reading it might never end.
        case special(path: String)
        case dangling(path: String)
        /// The path cannot be examined, for example because it does not exist.
        case failed(SystemError)

        public var description: String {
            switch self {
            case .foreign(let path, let owner):
                "\(path) belongs to user \(owner), who could put anything in its place; what is read "
                    + "here must belong to root or to the daemon's user"
            case .writableByAll(let path):
                "\(path) can be changed by everybody: chmod o-w \(path)"
            case .mounted(let path):
                "\(path) is a file system mounted where everybody could have mounted it"
            case .served(let path, let user):
                "\(path) is on a file system that a process of user \(user) serves (fuse), who might "
                    + "never answer, or lie; greenroomd reads nothing there"
            case .special(let path): "\(path) is a pipe, a socket or a device, not a file"
            case .dangling(let path):
                "\(path) is a link that leads nowhere; correct it or remove it"
            case .failed(let error): error.description
            }
        }

        /// Whether nothing exists at the path.
        public var isAbsence: Bool {
            if case .failed(let error) = self {
                error.code == ENOENT || error.code == ENOTDIR
            } else {
                false
            }
        }

        /// The error for a caller that was to open the path.
        public var systemError: SystemError {
            switch self {
            case .failed(let error): error
            case .foreign, .writableByAll, .mounted, .served, .special, .dangling:
                SystemError(code: EPERM, call: description)
            }
        }
    }

    private let trusted: Set<UInt32>
    /// A path with more links than this counts as circular (ELOOP, path_resolution(7)).
    private static let linkLimit = 40

    /// - Parameter user: the user as whom the daemon runs; nil means the user of this process.
    public init(user: UInt32? = nil) {
        var trusted: Set<UInt32> = [0, user ?? geteuid()]
        // In a user namespace, root may have no number of its own. The owner of "/" controls
        // everything below it.
        if let root = Self.status(of: nil, "/") { trusted.insert(root.owner) }
        self.trusted = trusted
    }

    /// Returns nil if nobody else can change what the path leads to, links followed.
    public func objection(to path: String) -> Objection? {
        do throws(Objection) {
            _ = try walk(path)
            return nil
        } catch {
            guard case .failed(let cause) = error else { return error }
            return .failed(SystemError(code: cause.code, call: cause.call, subject: path))
        }
    }

    /// The same for a file in a folder that has already passed the check.
    public func objection(toFile name: String, in folder: String) -> Objection? {
        let path = "\(folder)/\(name)"
        guard let status = Self.status(of: nil, path) else {
            return .failed(SystemError(code: errno, call: "stat", subject: path))
        }
        if status.kind == S_IFLNK { return objection(to: path) }
        do throws(Objection) {
            try checkServer(of: status.mount, path)
            try check(status, path)
            return nil
        } catch {
            return error
        }
    }

    /// Opens the folder in which a file is to be made. The path may lead into folders of a
    /// stranger, if everything from there on belongs to that stranger alone. Missing folders are
    /// made only where no stranger has control.
    ///
    /// - Returns: the folder, if its path might lead elsewhere by the time it is used; nil if
    ///   nobody else can change where the path leads.
    func folder(of path: String) throws(Objection) -> FileDescriptor? {
        let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[..<$0] } ?? ""
        let end = try walk(String(parent), strangers: true, makesFolders: true)
        return trusted.contains(end.status.owner) ? nil : end.descriptor
    }

    /// Where a path leads to.
    public struct Destination: Equatable, Sendable {
        /// The path, without links as far as it exists, then the rest unchanged.
        public var path: String
        /// Whether somebody else can change what the path leads to.
        public var isStrangers: Bool
    }

    /// Finds out where a path leads that may enter a stranger's folder. From there on, everything
    /// must belong to that stranger alone, without any link. The path need not exist.
    public func destination(of path: String) throws(Objection) -> Destination {
        let end = try walk(path, strangers: true, mayBeMissing: true)
        let place: String
        do throws(SystemError) { place = try end.descriptor.path() } catch { throw .failed(error) }
        let rest = end.missing.map { "/" + $0 }.joined()
        let isOurs = trusted.contains(end.status.owner)
        // A user who may make names in the last folder can make the rest of the path.
        let isOpen = !end.missing.isEmpty && end.status.mode & 0o2 != 0
        return Destination(
            path: (place == "/" && !rest.isEmpty ? "" : place) + rest,
            isStrangers: !isOurs || isOpen)
    }

    /// The same for a path that is mounted with the rights of this process. If this process has
    /// only the rights of an ordinary user, nobody gains anything by misleading it, so every link
    /// counts as the user's own.
    public static func mountDestination(of path: String) throws(Objection) -> Destination {
        if geteuid() == 0 { return try PathOwners().destination(of: path) }
        return Destination(path: realPath(of: path) ?? path, isStrangers: false)
    }

    // MARK: Looking without asking strangers

    private static let ofRoot = PathOwners(user: 0)

    /// Opens what a path leads to, links followed, whoever owns it (O_PATH in open(2)). As root,
    /// this never accesses a file system that a user serves, so it never waits for a process that
    /// may not answer. (A process of another user has only that user's own rights, so the path is
    /// opened as it is.) The result can be opened again by its name in /proc/self/fd.
    static func openPathOnly(_ path: String) throws(Objection) -> FileDescriptor {
        do throws(SystemError) {
            guard geteuid() == 0, path.hasPrefix("/") else {
                return try FileDescriptor.open(path, FileDescriptor.pathOnly)
            }
            return FileDescriptor(
                owning: try systemCall("openat2", on: path) { unsafe gr_open_without_mounts(path) })
        } catch {
            switch error.code {
            case EXDEV, ENOSYS, EPERM, EINVAL: break
            case _: throw .failed(error)
            }
        }
        return try ofRoot.walk(path, owners: false).descriptor
    }

    /// Opens the folder that a path leads to, as ``openPathOnly(_:)`` does.
    public static func folder(at path: String) throws(SystemError) -> FileDescriptor {
        let found: FileDescriptor
        do throws(Objection) { found = try openPathOnly(path) } catch { throw error.systemError }
        guard found.isDirectory else {
            throw SystemError(code: ENOTDIR, call: "open", subject: path)
        }
        return found
    }

    /// The path without links (realpath(3)), found as by ``openPathOnly(_:)``; nil if nothing is
    /// there, or we may not see it.
    public static func realPath(of path: String) -> String? {
        guard let file = try? openPathOnly(path) else { return nil }
        return try? file.path()
    }

    /// stat(2) of what ``openPathOnly(_:)`` opens; nil if nothing is there, or we may not see it.
    public static func status(of path: String) -> stat? {
        var status = stat()
        if geteuid() != 0 { return unsafe stat(path, &status) == 0 ? status : nil }
        guard let file = try? openPathOnly(path) else { return nil }
        return unsafe fstat(file.rawValue, &status) == 0 ? status : nil
    }

    // MARK: Walking

    private struct Status {
        let kind: UInt32
        let owner: UInt32
        let mode: UInt32
        let device: UInt64
        let mount: UInt64

        /// Whether everybody may make names here, and each name belongs to its owner.
        var isSticky: Bool { kind == S_IFDIR && mode & 0o1002 == 0o1002 }
    }

    /// The end of a path, and the names after it that do not exist.
    private struct End {
        var descriptor: FileDescriptor
        var status: Status
        var missing: [String] = []
    }

    /// What the path leads to.
    ///
    /// - Parameters:
    ///   - strangers: whether the path may lead into a stranger's folder. From there on, it must
    ///     stay in folders of that stranger, without any link and on one file system.
    ///   - makesFolders: whether to make missing folders where no stranger has control.
    ///   - owners: whether it matters who owns the folders and links on the way.
    ///   - mayBeMissing: whether to stop before the first name that does not exist, instead of
    ///     failing.
    private func walk(
        _ path: String, strangers: Bool = false, makesFolders: Bool = false, owners: Bool = true,
        mayBeMissing: Bool = false
    ) throws(Objection) -> End {
        var rest = Self.components(of: path)
        var links = 0
        var (place, folder, current) = try Self.root()
        while let name = rest.popLast() {
            let path = "\(place)/\(name)"
            if makesFolders, trusted.contains(current.owner) {
                _ = unsafe mkdirat(folder.rawValue, name, 0o755)
            }
            let next: FileDescriptor
            do throws(Objection) { next = try Self.open(folder, name, path) } catch {
                guard mayBeMissing, error.isAbsence else { throw error }
                return End(
                    descriptor: folder, status: current, missing: [name] + rest.reversed())
            }
            guard let status = Self.status(of: next, "") else { throw Self.failure(path) }
            if status.mount != current.mount { try checkServer(of: status.mount, path) }
            guard owners else {
                try follow(status, next, path)
                continue
            }
            if current.isSticky, status.device != current.device { throw .mounted(path: path) }
            if !trusted.contains(current.owner) {
                guard status.kind != S_IFLNK, status.owner == current.owner,
                    status.device == current.device
                else { throw .foreign(path: place, owner: current.owner) }
            } else if !strangers || status.kind == S_IFLNK || trusted.contains(status.owner) {
                try check(status, path)
            }
            try follow(status, next, path)
        }
        return End(descriptor: folder, status: current)

        func follow(_ status: Status, _ next: FileDescriptor, _ path: String) throws(Objection) {
            guard status.kind == S_IFLNK else {
                (place, folder, current) = (path, next, status)
                return
            }
            links += 1
            guard links <= Self.linkLimit, let target = Self.target(of: next) else {
                throw .failed(SystemError(code: ELOOP, call: "readlink", subject: path))
            }
            rest += Self.components(of: target)
            if target.hasPrefix("/") { (place, folder, current) = try Self.root() }
        }
    }

    private static func root() throws(Objection) -> (String, FileDescriptor, Status) {
        let root = try open(nil, "/", "/")
        guard let status = status(of: root, "") else { throw failure("/") }
        return ("", root, status)
    }

    private func checkServer(of mount: UInt64, _ path: String) throws(Objection) {
        let server: UInt32?
        do throws(SystemError) { server = try FileServers.own.server(of: mount) } catch {
            throw .failed(SystemError(code: error.code, call: error.call, subject: path))
        }
        if let server, !trusted.contains(server) { throw .served(path: path, user: server) }
    }

    private func check(_ status: Status, _ path: String) throws(Objection) {
        guard trusted.contains(status.owner) else {
            throw .foreign(path: path, owner: status.owner)
        }
        // The mode of a link means nothing, and only root sets the mode of a device.
        let canBeChanged = status.kind == S_IFREG || status.kind == S_IFDIR
        if canBeChanged, status.mode & 0o2 != 0, !status.isSticky {
            throw .writableByAll(path: path)
        }
    }

    /// The components of a path, the first one last. The path is split by bytes, as in the kernel,
    /// because to Swift a slash before a combining mark is another character.
    private static func components(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).reversed().map { String(Substring($0)) }
            .filter { $0 != "." }
    }

    // MARK: The kernel

    private static func open(
        _ folder: FileDescriptor?, _ name: String, _ path: String
    ) throws(Objection) -> FileDescriptor {
        do throws(SystemError) {
            let flags = FileDescriptor.pathOnly | O_NOFOLLOW
            guard let folder else { return try FileDescriptor.open(name, flags) }
            return try folder.open(name, flags)
        } catch {
            throw .failed(SystemError(code: error.code, call: error.call, subject: path))
        }
    }

    private static func failure(_ path: String) -> Objection {
        .failed(SystemError(code: errno, call: "stat", subject: path))
    }

    /// The status of a name in a folder, links not followed; an empty name means the folder itself.
    /// Only what the kernel knows without asking the server of the file system is in it, because
    /// the server might not answer.
    private static func status(of folder: FileDescriptor?, _ name: String) -> Status? {
        var status = gr_file_status()
        guard unsafe gr_look(folder?.rawValue ?? AT_FDCWD, name, &status) == 0 else { return nil }
        return Status(
            kind: status.mode & S_IFMT, owner: status.owner, mode: status.mode & 0o7777,
            device: status.device, mount: status.mount)
    }

    /// readlinkat(2)
    private static func target(of link: FileDescriptor) -> String? {
        unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) {
            buffer -> String? in
            let count = unsafe readlinkat(
                link.rawValue, "", buffer.baseAddress!.assumingMemoryBound(to: CChar.self),
                buffer.count)
            guard count > 0 else { return nil }
            return unsafe String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }
}
