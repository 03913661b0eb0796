internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// One path of `[Path]`, watched by inotify(7): the path itself if it exists, otherwise the folder
/// in which its next part would appear; and every folder above, because it may be renamed.
@LoopActor
final class PathTrigger {
    let condition: AppManifest.PathTriggers.Condition
    private let path: String
    /// The part of the path that is watched: all of it, or the part before the first wildcard.
    private let watchedPath: String
    private let inotify: Inotify
    /// The watch of the path itself.
    private var target: CInt?
    /// The folder in which the next part of the path is awaited.
    private var awaiting: (watch: CInt, name: Substring)?
    private(set) var watches: Set<CInt> = []
    /// Whether the file existed at the last look.
    private var wasThere = false

    private typealias Flags = UInt32
    private static let gone = Flags(IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB)
    private static let moved = Flags(IN_MOVE_SELF | IN_DELETE_SELF)
    private static let arrivals = Flags(IN_CREATE | IN_MOVED_TO)
    private static let departures = Flags(IN_DELETE | IN_MOVED_FROM)
    /// IN_MASK_ADD, because paths may share the watch of a file.
    private static let shared: Flags = 0x2000_0000

    init(_ trigger: AppManifest.PathTriggers.Trigger, _ inotify: Inotify) {
        condition = trigger.condition
        path = trigger.path
        self.inotify = inotify
        if condition == .existsGlob {
            let parts = path.split(separator: "/").prefix { part in
                !part.utf8.contains { "*?[".utf8.contains($0) }
            }
            watchedPath = "/" + parts.joined(separator: "/")
        } else {
            watchedPath = path
        }
        watch()
        wasThere = isThere
    }

    /// Whether the condition is about a state that lasts, and not about a change.
    var isLevel: Bool {
        switch condition {
        case .exists, .existsGlob, .directoryNotEmpty: true
        case .changed, .modified: false
        }
    }

    // MARK: Conditions

    /// At most this many names are compared with a pattern: there may be any number of them in a
    /// user's folder.
    private static let nameLimit = 4096

    private var isThere: Bool { Self.exists(path) }

    private static func exists(_ path: String) -> Bool { PathOwners.status(of: path) != nil }

    var holds: Bool {
        switch condition {
        case .exists: return isThere
        case .directoryNotEmpty: return !FolderContents.isEmpty(path)
        case .existsGlob: return FolderContents.hasMatch(path, atMost: Self.nameLimit)
        case .changed, .modified: return false
        }
    }

    // MARK: Watching

    private var targetFlags: Flags {
        switch condition {
        case .exists: Self.gone
        case .existsGlob, .directoryNotEmpty: Self.gone | Self.arrivals | Self.departures
        case .changed: Self.gone | Self.arrivals | Self.departures | Flags(IN_CLOSE_WRITE)
        case .modified:
            Self.gone | Self.arrivals | Self.departures | Flags(IN_CLOSE_WRITE | IN_MODIFY)
        }
    }

    /// Watches from the root down, as far as the path exists. What appears in the meantime is found
    /// by looking again after each new watch.
    private func watch() {
        watches = []
        target = nil
        awaiting = nil
        var folder = "/"
        var rest = watchedPath.split(separator: "/")[...]
        while let next = rest.first {
            let child = folder == "/" ? "/" + next : folder + "/" + next
            if add(folder, Self.moved) == nil { return }
            if !Self.exists(child) {
                guard let watch = add(folder, Self.moved | Self.arrivals) else { return }
                awaiting = (watch, next)
                if !Self.exists(child) { return }
                awaiting = nil
            }
            folder = child
            rest = rest.dropFirst()
        }
        target = add(folder, targetFlags)
    }

    private func add(_ path: String, _ flags: Flags) -> CInt? {
        guard let watch = try? inotify.watch(foreign: path, for: flags | Self.shared) else {
            return nil
        }
        watches.insert(watch)
        return watch
    }

    /// Applies events.
    ///
    /// - Returns: whether the app is to be launched if it is not running.
    func changed(_ events: [FileEvent]) -> Bool {
        var isStructural = false
        var isOwn = false
        for event in events where event.overflowed || watches.contains(event.watch) {
            if event.watch == target, event.mask & targetFlags != 0 { isOwn = true }
            if event.overflowed || event.watchEnded || event.mask & Self.gone != 0 {
                isStructural = true
            }
            if let awaiting, event.watch == awaiting.watch, event.name == awaiting.name {
                isStructural = true
            }
        }
        guard isStructural || isOwn else { return false }
        if isStructural { watch() }
        if isLevel { return holds }
        let isThere = isThere
        defer { wasThere = isThere }
        return isOwn || isThere != wasThere
    }
}
