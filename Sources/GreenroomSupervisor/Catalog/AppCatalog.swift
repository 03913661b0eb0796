internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner
internal import Systemd

/// The installed apps, by identifier, and how each was last launched.
@LoopActor
final class AppCatalog {
    private var table: [AppIdentifier: InstalledApp] = [:]
    var count: Int { table.count }
    private var lastLaunches: [AppIdentifier: Control.LaunchSummary] = [:]
    /// Of apps whose manifest is gone or faulty while instances may run: they stay their user's.
    private var formerOwners: [AppIdentifier: Account] = [:]
    /// Beyond it only root sees what is left of them.
    private static let formerOwnerLimit = 4096

    /// Whom the instances of an app belong to, also when it is no longer installed.
    func owner(of app: AppIdentifier) -> Account? { table[app]?.account ?? formerOwners[app] }

    subscript(identifier: AppIdentifier) -> InstalledApp? { table[identifier] }

    /// Sorted by identifier.
    var apps: [InstalledApp] {
        if let inOrder { return inOrder }
        let sorted = table.values.sorted { $0.identifier < $1.identifier }
        inOrder = sorted
        return sorted
    }
    private var inOrder: [InstalledApp]?
    /// In no order: sorting is for people.
    var unsortedApps: [InstalledApp] { Array(table.values) }
    /// Sorted.
    var identifiers: [String] { apps.map(\.identifier.rawValue) }

    /// What a new set of apps means to the core: changed ones, then removed ones. `unchanged` are
    /// in the table already; others that are and were not among `former` came meanwhile and stay.
    func replace(
        with apps: [InstalledApp], unchanged: [InstalledApp] = [], former: [InstalledApp]
    ) -> (changed: [InstalledApp], removed: [AppIdentifier]) {
        var kept = Set(unchanged.map(\.identifier))
        var changed: [InstalledApp] = []
        for app in apps {
            let former = table[app.identifier]
            if former?.description != app.description
                || former?.startOccasions != app.startOccasions
            {
                changed.append(app)
            }
            add(app)
            kept.insert(app.identifier)
        }
        let removed = former.map(\.identifier).filter { !kept.contains($0) && table[$0] != nil }
            .sorted()
        for app in removed { remove(app) }
        return (changed, removed)
    }

    /// How many of the apps are instances of templates that somebody asked for.
    private(set) var onDemandCount = 0

    func hasApp(of user: UInt32) -> Bool { table.values.contains { $0.account.user == user } }

    func onDemandCount(of user: UInt32) -> Int {
        table.values.count { $0.isMadeOnDemand && $0.account.user == user }
    }

    /// Users with an app that may not use the control socket, also if it is no longer installed: only of
    /// their clients anybody has to look where they come from.
    private(set) var confinedUsers: Set<UInt32> = []

    /// An instance of this user's, of a former supervisor, may not use it.
    func noteConfined(_ user: UInt32) { confinedUsers.insert(user) }

    /// What the cgroups of these apps' instances are called, but for the number.
    private var confinedCgroups: Set<String> = []

    /// Whether this cgroup is an instance's of an app that may not use the control socket, or is not known.
    func mayBeConfined(cgroup name: String) -> Bool {
        guard let dash = name.lastIndex(of: "-") else { return true }
        let app = name[..<dash]
        return confinedCgroups.contains(String(app))
            || !table.keys.contains { InstanceCgroup.name(ofApp: $0.rawValue) == app }
    }

    func add(_ app: InstalledApp) {
        inOrder = nil
        if app.isKeptFromControl {
            confinedUsers.insert(app.account.user)
            confinedCgroups.insert(InstanceCgroup.name(ofApp: app.identifier.rawValue))
        }
        let former = table.updateValue(app, forKey: app.identifier)
        onDemandCount += (app.isMadeOnDemand ? 1 : 0) - (former?.isMadeOnDemand == true ? 1 : 0)
    }

    func remove(_ app: AppIdentifier) {
        inOrder = nil
        lastLaunches[app] = nil
        let former = table.removeValue(forKey: app)
        if former?.isMadeOnDemand == true { onDemandCount -= 1 }
        if formerOwners.count < Self.formerOwnerLimit { formerOwners[app] = former?.account }
    }

    func noteLaunch(
        of outcome: LaunchOutcome, elapsedMicroseconds: Int64, at now: Instant, app: AppIdentifier?
    ) {
        guard let app, !outcome.isRepeated else { return }
        var summary = Control.LaunchSummary(
            instance: outcome.instance.rawValue, kind: Control.LaunchKind(outcome.kind),
            elapsedUSec: elapsedMicroseconds,
            timestampUSec: WallClock.microseconds(at: now))
        summary.coldReason = outcome.coldReason.map { .known(.init($0)) }
        lastLaunches[app] = summary
    }

    func lastLaunch(of app: AppIdentifier) -> Control.LaunchSummary? { lastLaunches[app] }
}
