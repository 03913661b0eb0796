internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Notices that a file changed from which paused instances, or an app's eligibility, were made.
///
/// The kernel queues a change before the call that made it returns, and the loop hands changes out
/// before requests: whoever replaces a program and then launches it gets the new one.
@LoopActor
final class StalenessWatcher {
    var onStaleInstance: ((InstanceIdentifier) -> Void)?
    /// A file of an app changed, or a missing program came back.
    var onChangedApps: (() -> Void)?

    /// Content, identity or mode (inotify(7)). A file replaced by rename(2) loses a link: IN_ATTRIB.
    private static let changes = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// The name may lead to another file than before.
    private static let replacements = UInt32(IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// A file appears under a name.
    private static let arrivals = UInt32(IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB)
    /// Before anything else that is ready.
    private static let priority: Int64 = -10

    private let inotify: Inotify
    private var source: EventSource?
    private var instancesOfWatch: [CInt: Set<InstanceIdentifier>] = [:]
    private var watchesOfInstance: [InstanceIdentifier: [CInt]] = [:]
    /// The files of apps' programs. Which app a file belongs to is found when it changes: so a file
    /// costs memory once, however many apps are made from it.
    private var watchOfFile: [String: CInt] = [:]
    private var filesOfWatch: [CInt: [String]] = [:]

    private var awaitedNames: [CInt: Set<String>] = [:]

    init() throws {
        inotify = try Inotify()
        source = try LoopActor.io(
            inotify.descriptor.rawValue, .readable, priority: Self.priority
        ) { [unowned self] _ in changed() }
    }

    /// - Returns: false if one of the files cannot be watched: the instance must not be kept.
    func watch(_ paths: [String], for instance: InstanceIdentifier) -> Bool {
        for path in paths {
            guard let watch = try? inotify.watch(path, for: Self.changes) else { return false }
            instancesOfWatch[watch, default: []].insert(instance)
            watchesOfInstance[instance, default: []].append(watch)
        }
        return true
    }

    /// Watches the files that apps' programs consist of, instead of those before.
    func watchPrograms(_ files: Set<String>) {
        for (file, watch) in watchOfFile where !files.contains(file) {
            watchOfFile[file] = nil
            filesOfWatch[watch]?.removeAll { $0 == file }
            dropIfUnused(watch)
        }
        for file in files where watchOfFile[file] == nil {
            guard let watch = try? inotify.watch(file, for: Self.changes) else { continue }
            watchOfFile[file] = watch
            filesOfWatch[watch, default: []].append(file)
        }
    }

    func forget(_ instance: InstanceIdentifier) {
        for watch in watchesOfInstance.removeValue(forKey: instance) ?? [] {
            instancesOfWatch[watch]?.remove(instance)
            dropIfUnused(watch)
        }
    }

    /// Watches the folders of programs that are not there: who deletes and writes a program anew (as
    /// install(1) does) takes the app away for a moment only. Replaces what was awaited before.
    func awaitReturn(of programs: [String]) {
        let former = awaitedNames.keys
        awaitedNames = [:]
        for program in programs {
            guard let slash = program.lastIndex(of: "/"), slash > program.startIndex,
                let watch = try? inotify.watch(String(program[..<slash]), for: Self.arrivals)
            else { continue }
            let name = String(program[program.index(after: slash)...])
            awaitedNames[watch, default: []].insert(name)
        }
        for watch in former { dropIfUnused(watch) }
    }

    private func dropIfUnused(_ watch: CInt) {
        guard instancesOfWatch[watch]?.isEmpty ?? true, filesOfWatch[watch]?.isEmpty ?? true,
            awaitedNames[watch] == nil
        else { return }
        instancesOfWatch[watch] = nil
        filesOfWatch[watch] = nil
        inotify.remove(watch)
    }

    private func drop(_ files: [String], _ watch: CInt) {
        for file in files { watchOfFile[file] = nil }
        filesOfWatch[watch] = nil
        dropIfUnused(watch)
    }

    private func changed() {
        var instances: Set<InstanceIdentifier> = []
        var haveAppsChanged = false
        for event in (try? inotify.read()) ?? [] {
            if event.overflowed {
                // Which files changed is lost, so all of them may have.
                instances.formUnion(watchesOfInstance.keys)
                haveAppsChanged = true
            }
            instances.formUnion(instancesOfWatch[event.watch] ?? [])
            if let files = filesOfWatch[event.watch], !files.isEmpty {
                haveAppsChanged = true
                // Another file may have the name by now: it is watched anew.
                if event.watchEnded || event.mask & Self.replacements != 0 {
                    drop(files, event.watch)
                }
            }
            if awaitedNames[event.watch]?.contains(event.name) == true { haveAppsChanged = true }
            if event.watchEnded { instancesOfWatch[event.watch] = nil }
        }
        if haveAppsChanged { onChangedApps?() }
        for instance in instances.sorted() { onStaleInstance?(instance) }
    }
}
