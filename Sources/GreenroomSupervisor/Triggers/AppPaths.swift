internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Tells the core when the paths of an app's `[Path]` say that the app is wanted. The core decides
/// what follows (`Triggering.swift`).
@LoopActor
final class AppPaths {
    private final class Entry {
        let settings: AppManifest.PathTriggers
        var triggers: [PathTrigger] = []
        init(_ settings: AppManifest.PathTriggers) { self.settings = settings }
    }

    private var entries: [AppIdentifier: Entry] = [:]
    private let launches: TriggeredLaunches
    private let log: Log
    /// Nil until an app wants it.
    private var inotify: Inotify?
    private var source: EventSource?
    private var turn: EventSource?
    private var reviewed: Set<AppIdentifier> = []
    /// At most this many reads in one round of the loop; further events wait for the next round.
    private static let roundLimit = 16

    init(launches: TriggeredLaunches, log: Log) {
        self.launches = launches
        self.log = log
    }

    // MARK: Coming and going

    /// Takes over the apps as they are now. Paths that have not changed stay watched.
    func update(_ apps: [(AppIdentifier, AppManifest.PathTriggers)]) {
        var next: [AppIdentifier: Entry] = [:]
        for (app, settings) in apps {
            if let entry = entries[app], entry.settings == settings {
                next[app] = entry
            } else if let entry = begin(settings) {
                next[app] = entry
                review(app)
            }
        }
        entries = next
        guard let inotify, next.isEmpty else { return dropUnused() }
        source = nil
        withExtendedLifetime(inotify) { self.inotify = nil }
        watched = []
    }

    private var watched: Set<CInt> = []

    private func dropUnused() {
        let used = Set(entries.values.flatMap { $0.triggers.flatMap(\.watches) })
        for watch in watched.subtracting(used) { inotify?.remove(watch) }
        watched = used
    }

    private func begin(_ settings: AppManifest.PathTriggers) -> Entry? {
        do {
            let inotify = try self.inotify ?? Inotify()
            if source == nil {
                source = try LoopActor.io(inotify.descriptor.rawValue, .readable) {
                    [unowned self] _ in changed()
                }
            }
            self.inotify = inotify
            let entry = Entry(settings)
            entry.triggers = settings.triggers.map { PathTrigger($0, inotify) }
            return entry
        } catch {
            log.say(.error, "watching the paths of apps: \(error)")
            return nil
        }
    }

    // MARK: Changes

    private func changed() {
        guard let inotify else { return }
        var events: [FileEvent] = []
        for _ in 0..<Self.roundLimit {
            guard let more = try? inotify.read(), !more.isEmpty else { break }
            events += more
        }
        for (app, entry) in entries {
            // Every trigger is asked, so that none misses its own change.
            let wanting = entry.triggers.filter { $0.changed(events) }
            if !wanting.isEmpty { trigger(app) }
        }
        dropUnused()
    }

    /// An instance of the app has ended, or the app is new, so its conditions are checked: after
    /// this turn of the loop, when the core knows everything.
    func review(_ app: AppIdentifier) {
        reviewed.insert(app)
        guard turn == nil else { return }
        do throws(SystemdError) {
            turn = try LoopActor.deferred { [unowned self] in reviewNow() }
        } catch {
            log.failed("looking at the paths of \(app)", error)
        }
    }

    private func reviewNow() {
        turn = nil
        let apps = reviewed.sorted()
        reviewed = []
        for app in apps where entries[app]?.triggers.contains(where: \.holds) == true {
            trigger(app)
        }
    }

    private func trigger(_ app: AppIdentifier) {
        guard let settings = entries[app]?.settings else { return }
        launches.launchForPath(
            app, TriggerLimit(burst: settings.limitBurst, interval: settings.limitInterval))
    }

    /// Looks at the paths of these apps again: what the apps wait for may still be there.
    func tryAgain(where isLeftAlone: (AppIdentifier) -> Bool) {
        for app in entries.keys where isLeftAlone(app) { review(app) }
    }

    /// Whether any paths are watched for the app.
    func has(_ app: AppIdentifier) -> Bool { entries[app] != nil }
}
