internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// One path of `[Path]`, as inotify(7) sees it: the path itself where it is there, else the folder in
/// which the next part of it would appear; and every folder above, which may be renamed.
@LoopActor
final class PathTrigger {
    let condition: AppManifest.PathTriggers.Condition
    private let path: String
    /// What is watched of the path: all of it, or what stands before the first wildcard.
    private let watchedPath: String
    private let inotify: Inotify
    /// The watch of the path itself.
    private var target: CInt?
    /// The folder that its next part is awaited in.
    private var awaiting: (watch: CInt, name: Substring)?
    private(set) var watches: Set<CInt> = []
    /// Whether there was a file.
    private var wasThere = false

    private typealias Flags = UInt32
    private static let gone = Flags(IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB)
    private static let moved = Flags(IN_MOVE_SELF | IN_DELETE_SELF)
    private static let arrivals = Flags(IN_CREATE | IN_MOVED_TO)
    private static let departures = Flags(IN_DELETE | IN_MOVED_FROM)
    /// IN_MASK_ADD: paths share the watch of a file.
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

    /// A condition that holds for as long as it does, not one about changes.
    var isLevel: Bool {
        switch condition {
        case .exists, .existsGlob, .directoryNotEmpty: true
        case .changed, .modified: false
        }
    }

    // MARK: Conditions

    /// Names that a pattern is compared with: in folders of a user there may be any number of them.
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

    /// From the root down, as far as there is something. What appears meanwhile is found by looking
    /// again behind each new watch.
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

    /// What the events mean for it.
    /// - Returns: whether the app is to be launched, unless it runs.
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
