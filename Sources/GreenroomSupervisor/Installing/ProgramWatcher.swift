internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// Notices when a file changes that an app's program consists of, or when a missing program comes
/// back. The app that a file belongs to is found only then, so a file costs memory once, however
/// many apps are made from it.
///
/// The kernel queues a change before the call that made it returns, and the loop handles changes
/// before requests. So whoever replaces a program and then launches it gets the new one.
@LoopActor
final class ProgramWatcher {
    /// Events after which a name may lead to another file than before.
    private static let replacements = UInt32(IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// Events that mean that a file has appeared under a name.
    private static let arrivals = UInt32(IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB)

    private let inotify: Inotify
    private let changed: () -> Void
    private var source: EventSource?
    private var watchOfFile: [String: CInt] = [:]
    private var filesOfWatch: [CInt: [String]] = [:]
    /// The names of missing programs, by the watches of their folders.
    private var awaitedNames: [CInt: Set<String>] = [:]

    /// - Parameter changed: called when one of the files has changed, or when a program has come
    ///   back.
    init(then changed: @escaping () -> Void) throws {
        self.changed = changed
        inotify = try Inotify()
        source = try LoopActor.io(
            inotify.descriptor.rawValue, .readable, priority: LoopPriority.changedPrograms
        ) { [unowned self] _ in hear() }
    }

    /// Watches these files, instead of those that were watched before.
    func watch(_ files: Set<String>) {
        for (file, watch) in watchOfFile where !files.contains(file) {
            watchOfFile[file] = nil
            filesOfWatch[watch]?.removeAll { $0 == file }
            dropIfUnused(watch)
        }
        for file in files where watchOfFile[file] == nil {
            guard let watch = try? inotify.watch(foreign: file, for: Inotify.fileChanges) else {
                continue
            }
            watchOfFile[file] = watch
            filesOfWatch[watch, default: []].append(file)
        }
    }

    /// Watches the folders of missing programs, because whoever deletes a program and writes it
    /// again (as install(1) does) takes the app away for a moment only. Replaces what was awaited
    /// before.
    func awaitReturn(of programs: [String]) {
        let former = awaitedNames.keys
        awaitedNames = [:]
        for program in programs {
            guard let slash = program.lastIndex(of: "/"), slash > program.startIndex,
                let watch = try? inotify.watch(
                    foreign: String(program[..<slash]), for: Self.arrivals)
            else { continue }
            let name = String(program[program.index(after: slash)...])
            awaitedNames[watch, default: []].insert(name)
        }
        for watch in former { dropIfUnused(watch) }
    }

    private func dropIfUnused(_ watch: CInt) {
        guard filesOfWatch[watch]?.isEmpty ?? true, awaitedNames[watch] == nil else { return }
        filesOfWatch[watch] = nil
        inotify.remove(watch)
    }

    private func hear() {
        var haveChanged = false
        for event in (try? inotify.read()) ?? [] {
            // If the kernel has dropped events, any of the files may have changed.
            if event.overflowed { haveChanged = true }
            if let files = filesOfWatch[event.watch], !files.isEmpty {
                haveChanged = true
                // Another file may have the name by now: it is watched again.
                if event.watchEnded || event.mask & Self.replacements != 0 {
                    for file in files { watchOfFile[file] = nil }
                    filesOfWatch[event.watch] = nil
                    dropIfUnused(event.watch)
                }
            }
            if awaitedNames[event.watch]?.contains(event.name) == true { haveChanged = true }
        }
        if haveChanged { changed() }
    }
}
