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
    /// The owners of apps whose manifest is gone or faulty. Instances of such an app may still run,
    /// and they still belong to its user.
    private var formerOwners: [AppIdentifier: Account] = [:]
    /// The apps that have a manifest and are not installed, by identifier.
    var absent: [String: AbsentApp] = [:]
    /// The identifiers of templates, `name@`, which are no apps themselves.
    var templates: Set<String> = []
    /// At most this many former owners are kept. Instances of further apps have no owner, so that
    /// only privileged clients see them.
    private static let formerOwnerLimit = 4096

    /// The user that owns the instances of an app, even if the app is no longer installed.
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
    /// The installed apps in no particular order, without the cost of sorting.
    var unsortedApps: [InstalledApp] { Array(table.values) }
    /// Sorted.
    var identifiers: [String] { apps.map(\.identifier.rawValue) }

    /// Puts `apps` into the table and returns what the core must hear of. Apps in `unchanged` are
    /// in the table already and stay. An app of `former` that is in neither list is removed. An app
    /// that was added in the meantime, and so is not in `former`, stays.
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

    /// The users that have, or once had, an app that may not use the control socket. The daemon
    /// checks which process connected only for clients of these users.
    private(set) var confinedUsers: Set<UInt32> = []

    /// Notes the users of instances that a former supervisor has started. Call this when the apps
    /// are installed.
    func adopt(_ records: [InstanceRecord]) {
        confinedUsers.formUnion(records.lazy.compactMap(\.confinedUser))
        let homeless = records.filter { table[$0.app] == nil }
        for (app, records) in Dictionary(grouping: homeless, by: \.app)
        where formerOwners.count < Self.formerOwnerLimit {
            // If an app has had several users, nobody may have another one's instances.
            let users = Set(records.map(\.user))
            guard users.count == 1, case .some(.some(let user)) = users.first else { continue }
            // Its name is not looked up, because that may take a while.
            formerOwners[app] = Account(unlisted: user, group: user)
        }
    }

    /// The cgroup names of instances of apps that may not use the control socket, without the
    /// number of the instance.
    private var confinedCgroups: Set<String> = []

    /// True if the cgroup belongs to an instance of an app that may not use the control socket, or
    /// if no installed app has cgroups of this name.
    func mayBeConfined(cgroup name: String) -> Bool {
        guard let dash = name.lastIndex(of: "-") else { return true }
        let app = name[..<dash]
        return confinedCgroups.contains(String(app))
            || !table.keys.contains { InstanceCgroup.name(ofApp: $0.rawValue) == app }
    }

    func add(_ app: InstalledApp) {
        inOrder = nil
        formerOwners[app.identifier] = nil
        if app.isKeptFromControl {
            confinedUsers.insert(app.account.user)
            confinedCgroups.insert(InstanceCgroup.name(ofApp: app.identifier.rawValue))
        }
        let former = table.updateValue(app, forKey: app.identifier)
        onDemandCount += (app.isMadeOnDemand ? 1 : 0) - (former?.isMadeOnDemand == true ? 1 : 0)
    }

    /// - Parameter isUnused: whether no instance of it runs, so that nobody will ask for its owner.
    func remove(_ app: AppIdentifier, isUnused: Bool = false) {
        inOrder = nil
        lastLaunches[app] = nil
        let former = table.removeValue(forKey: app)
        if former?.isMadeOnDemand == true { onDemandCount -= 1 }
        if !isUnused, formerOwners.count < Self.formerOwnerLimit {
            formerOwners[app] = former?.account
        }
    }

    /// In what a launch differs from every paused instance.
    struct LaunchDifferences {
        var variables: [String] = []
        /// Words of the interface.
        var state: [String] = []
    }

    /// Notes the app's latest launch.
    func note(
        _ launch: Control.LaunchRecord, of app: AppIdentifier, _ differences: LaunchDifferences
    ) {
        guard let kind = launch.kind.known else { return }
        let elapsed = launch.elapsedUSec ?? 0
        var summary = Control.LaunchSummary(
            instance: launch.instance, kind: kind, elapsedUSec: elapsed,
            timestampUSec: launch.requestTimestampUSec + elapsed)
        summary.coldReason = launch.coldReason
        summary.anewReason = launch.anewReason
        summary.caller = launch.caller
        if launch.coldReason == .environmentMismatch {
            summary.differingVariables = differences.variables
        }
        if launch.coldReason == .callerState, !differences.state.isEmpty {
            summary.differingState = differences.state
        }
        lastLaunches[app] = summary
    }

    /// Notes what has become known of a launch, if it is the app's latest one.
    func noteProgress(_ launch: Control.LaunchRecord, of app: AppIdentifier) {
        guard var summary = lastLaunches[app], summary.instance == launch.instance else { return }
        summary.readyUSec = launch.readyUSec ?? summary.readyUSec
        summary.exit = launch.exit
        summary.ranUSec = launch.ranUSec
        lastLaunches[app] = summary
    }

    func lastLaunch(of app: AppIdentifier) -> Control.LaunchSummary? { lastLaunches[app] }
}
