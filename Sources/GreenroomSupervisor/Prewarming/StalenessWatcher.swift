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
    var onChangedApp: ((AppIdentifier) -> Void)?

    /// Content, identity or mode (inotify(7)). A file replaced by rename(2) loses a link: IN_ATTRIB.
    private static let changes = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// Before anything else that is ready.
    private static let priority: Int64 = -10

    private let inotify: Inotify
    private var source: EventSource?
    private var instancesOfWatch: [CInt: Set<InstanceIdentifier>] = [:]
    private var watchesOfInstance: [InstanceIdentifier: [CInt]] = [:]
    private var appsOfWatch: [CInt: Set<AppIdentifier>] = [:]
    private var watchesOfApp: [AppIdentifier: [CInt]] = [:]

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

    func watch(_ paths: [String], for app: AppIdentifier) {
        forget(app)
        for path in paths {
            guard let watch = try? inotify.watch(path, for: Self.changes) else { continue }
            appsOfWatch[watch, default: []].insert(app)
            watchesOfApp[app, default: []].append(watch)
        }
    }

    func forget(_ instance: InstanceIdentifier) {
        for watch in watchesOfInstance.removeValue(forKey: instance) ?? [] {
            instancesOfWatch[watch]?.remove(instance)
            dropIfUnused(watch)
        }
    }

    func forget(_ app: AppIdentifier) {
        for watch in watchesOfApp.removeValue(forKey: app) ?? [] {
            appsOfWatch[watch]?.remove(app)
            dropIfUnused(watch)
        }
    }

    private func dropIfUnused(_ watch: CInt) {
        guard instancesOfWatch[watch]?.isEmpty ?? true, appsOfWatch[watch]?.isEmpty ?? true else {
            return
        }
        instancesOfWatch[watch] = nil
        appsOfWatch[watch] = nil
        inotify.remove(watch)
    }

    private func changed() {
        var instances: Set<InstanceIdentifier> = []
        var apps: Set<AppIdentifier> = []
        for event in (try? inotify.read()) ?? [] {
            if event.overflowed {
                // Which files changed is lost, so all of them may have.
                instances.formUnion(watchesOfInstance.keys)
                apps.formUnion(watchesOfApp.keys)
            }
            instances.formUnion(instancesOfWatch[event.watch] ?? [])
            apps.formUnion(appsOfWatch[event.watch] ?? [])
            if event.watchEnded {
                instancesOfWatch[event.watch] = nil
                appsOfWatch[event.watch] = nil
            }
        }
        for app in apps.sorted() { onChangedApp?(app) }
        for instance in instances.sorted() { onStaleInstance?(instance) }
    }
}
