internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The installed apps, by identifier, and how each was last launched.
@LoopActor
final class AppCatalog {
    private(set) var table: [AppIdentifier: InstalledApp] = [:]
    private var lastLaunches: [AppIdentifier: Control.LaunchSummary] = [:]
    /// Of apps whose manifest is gone or faulty while instances may run: they stay their user's.
    private var formerOwners: [AppIdentifier: Account] = [:]
    /// Beyond it only root sees what is left of them.
    private static let formerOwnerLimit = 4096

    /// Whom the instances of an app belong to, also when it is no longer installed.
    func owner(of app: AppIdentifier) -> Account? { table[app]?.account ?? formerOwners[app] }

    subscript(identifier: AppIdentifier) -> InstalledApp? { table[identifier] }

    var apps: [InstalledApp] { table.values.sorted { $0.identifier < $1.identifier } }
    var identifiers: [String] { table.keys.map(\.rawValue) }

    /// What a new set of apps means to the core: changed ones, then removed ones.
    func replace(with apps: [InstalledApp]) -> (changed: [InstalledApp], removed: [AppIdentifier]) {
        var next: [AppIdentifier: InstalledApp] = [:]
        var changed: [InstalledApp] = []
        for var app in apps {
            // A generation is a promise that paused instances are still what they should be, also to
            // the next supervisor, which knows no former app to count from: hence a digest.
            app.description.generation = app.generation
            if table[app.identifier]?.description != app.description { changed.append(app) }
            next[app.identifier] = app
        }
        let removed = table.keys.filter { next[$0] == nil }.sorted()
        for app in removed {
            lastLaunches[app] = nil
            if formerOwners.count < Self.formerOwnerLimit {
                formerOwners[app] = table[app]?.account
            }
        }
        table = next
        return (changed, removed)
    }

    func noteLaunch(
        of outcome: LaunchOutcome, elapsedMicroseconds: Int64, at now: Instant, app: AppIdentifier?
    ) {
        guard let app, !outcome.isRepeated else { return }
        var summary = Control.LaunchSummary(
            instance: outcome.instance.rawValue, kind: Control.LaunchKind(outcome.kind),
            elapsedUSec: elapsedMicroseconds,
            timestampUSec: WallClock.microseconds(at: now))
        summary.coldReason = outcome.coldReason.map(Control.ColdReason.init)
        lastLaunches[app] = summary
    }

    func lastLaunch(of app: AppIdentifier) -> Control.LaunchSummary? { lastLaunches[app] }
}

extension InstalledApp {
    /// Of all that decides whether an instance paused for one can be launched as the other.
    fileprivate var generation: UInt64 {
        let lists = [arguments, environment, extraKeyNames.sorted(), fingerprint.map { "\($0)" }]
        let scalars = [
            "\(kind)", executablePath, workingDirectory ?? "-", umask.map(String.init) ?? "-",
            "\(account)", "\(groups)",
            "\(noNewPrivileges)", "\(limits)", "\(sockets)",
        ]
        return PoolEnvironment.digest(scalars + lists.flatMap { ["\($0.count)"] + $0 })
    }
}
