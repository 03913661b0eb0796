internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Enters the apps that manifests describe into the catalog and the core: all apps on a reload, one
/// app when a client asks for an instance of a template.
@LoopActor
final class AppInstaller {
    private let core: Core
    private let catalog: AppCatalog
    private let loader: AppLoader
    private let registration: AppRegistration
    private let triggers: AppTriggers
    private let reporter: Reporter
    private let log: Log
    private var programs: ProgramWatcher?

    /// At most this many instances of templates that are not enabled, because a client can make up
    /// names.
    private static let onDemandLimit = SharedLimit(1024)

    /// Reading more than this many apps leaves megabytes of freed memory, which are returned to the
    /// kernel.
    private static let manyApps = 100

    init(
        core: Core, catalog: AppCatalog, loader: AppLoader, registration: AppRegistration,
        triggers: AppTriggers, reporter: Reporter, log: Log
    ) throws {
        self.core = core
        self.catalog = catalog
        self.loader = loader
        self.registration = registration
        self.triggers = triggers
        self.reporter = reporter
        self.log = log
        programs = try ProgramWatcher { [unowned self] in reloadInTurns() }
    }

    private var sockets: ListeningSockets { registration.sockets }

    /// From now on, reads manifests without `When=` as if they had this one.
    func use(_ defaultOccasion: AppManifest.Occasion) {
        loader.defaultOccasion = defaultOccasion
    }

    /// Reads the manifests that have changed. A faulty manifest is reported and changes nothing
    /// else. Reads all of them in one turn of the loop: at the start, when no client is served yet,
    /// and at a login, which starts apps from the result. Callers of `reloadInTurns` that still
    /// wait get the report of this reading.
    @discardableResult
    func reload() -> Control.ReloadReport {
        reading = nil
        turns.end()
        forgetUnused()
        let former = catalog.unsortedApps
        let result = loader.load(former: former, log: log)
        sockets.prepareAtOnce(for: result.apps + result.unchanged)
        let report = take(result, former: former)
        let served = waiters + laterWaiters
        (waiters, laterWaiters) = ([], [])
        for waiter in served { waiter(report) }
        return report
    }

    // MARK: In turns with the other events of the loop

    /// The reading that is under way, and whoever waits for it.
    private var reading: ManifestReading?
    private var waiters: [(Control.ReloadReport) -> Void] = []
    /// Callers that asked after the reading had begun. It may have read the manifests that they
    /// mean before those changed, so another reading follows.
    private var laterWaiters: [(Control.ReloadReport) -> Void] = []
    private lazy var turns = Turns { [unowned self] in proceed() }

    /// A turn lasts at most this long, and one portion more. A portion takes microseconds, or as
    /// long as reading one manifest.
    private static let turnNanoseconds: UInt64 = 1_000_000

    /// Does the same as `reload` in several turns of the loop, so that others are served in
    /// between. `report` may be called before this returns.
    func reloadInTurns(_ report: @escaping (Control.ReloadReport) -> Void = { _ in }) {
        if reading != nil { return laterWaiters.append(report) }
        waiters.append(report)
        forgetUnused()
        let end = MonotonicClock.nanoseconds + Self.turnNanoseconds
        reading = ManifestReading(loader, former: catalog.unsortedApps, log: log)
        if MonotonicClock.nanoseconds < end { proceed() } else { turns.ask() }
    }

    private func proceed() {
        guard let reading else { return }
        let end = MonotonicClock.nanoseconds + Self.turnNanoseconds
        while !reading.isOver {
            reading.proceed()
            if MonotonicClock.nanoseconds >= end { return turns.ask() }
        }
        sockets.prepare(for: reading.result.apps, beside: reading.result.unchanged) {
            [unowned self] in
            // Another reading may have taken this one's place.
            if self.reading === reading { conclude(reading) }
        }
    }

    private func conclude(_ reading: ManifestReading) {
        self.reading = nil
        let report = take(reading.result, former: reading.former)
        let served = waiters
        waiters = laterWaiters
        laterWaiters = []
        for waiter in served { waiter(report) }
        if !waiters.isEmpty, let next = waiters.popLast() { reloadInTurns(next) }
    }

    /// The apps that had a manifest before a reading that could not see all manifests. The next
    /// complete reading shows which of these manifests are gone.
    private var unseen: Set<AppIdentifier> = []

    private func take(
        _ result: LoadResult, former: [InstalledApp], isRetry: Bool = false
    ) -> Control.ReloadReport {
        let (changed, removed) = catalog.replace(
            with: result.apps, unchanged: result.unchanged, former: former)
        let formerlyAbsent = catalog.absent
        catalog.absent = result.absent
        catalog.templates = result.templates
        for app in removed {
            registration.remove(app, isGone: !result.isPartial && isGone(app))
        }
        unseen.formUnion(formerlyAbsent.filter { $0.value.isOwn }.keys.map { AppIdentifier($0) })
        if result.isPartial {
            unseen.formUnion(removed)
        } else {
            for app in unseen where catalog[app] == nil && isGone(app) {
                registration.remove(app, isGone: true, wasInstalled: false)
            }
            unseen = []
        }
        // Another file may have installed an app of that name (`Identifier=`).
        for (name, absent) in catalog.absent where absent.isOwn {
            let app = AppIdentifier(name)
            if catalog[app] == nil { forget(app) }
        }
        programs?.watch(loader.programFiles)
        var faults = result.faults
        // `moved` apps were enabled or disabled, which changes nothing in the manifest itself.
        for app in changed + result.moved { faults += registration.add(app) }
        for app in result.unchanged where sockets.lacks(app) {
            faults += sockets.update(app)
        }
        sockets.dropUntaken()
        triggers.update(catalog.apps)
        programs?.awaitReturn(of: result.missingPrograms)
        // A program may have come back before its folder was watched.
        let isBack = result.missingPrograms.contains {
            (try? ExecutableInspection.find($0, in: "")) != nil
        }
        if !isRetry, isBack {
            let former = catalog.unsortedApps
            return take(
                loader.load(former: former, log: log), former: former, isRetry: true)
        }
        if changed.count > Self.manyApps { OwnMemory.giveBack() }
        if !changed.isEmpty || !removed.isEmpty { reporter.appsChanged(catalog.count) }
        return Control.ReloadReport(
            loaded: catalog.identifiers, failed: faults, warnings: result.warnings)
    }

    /// Whether no manifest of this daemon describes the app any more, not even a faulty one.
    private func isGone(_ app: AppIdentifier) -> Bool {
        catalog.absent[app.rawValue]?.isOwn != true
    }

    /// If only a former supervisor has installed the app, the core knows it, and this supervisor has
    /// not removed it.
    private func forget(_ app: AppIdentifier) {
        if core.lifecycle.app(app) != nil { core.handle(.appRemoved(app, isGone: false)) }
    }

    /// Installs an instance of a template (`name@x`), which has no file of its own.
    /// - Parameter mayBe: whether this owner may have an instance, which listens on its sockets and
    ///   is prewarmed as soon as it is installed.
    /// - Returns: nil if there is no template for the name, or none that works: the journal says
    ///   why.
    func instantiate(
        _ identifier: String, _ mayBe: (Account) throws(ControlError) -> Bool
    ) throws(ControlError) -> InstalledApp? {
        let name = ManifestName(identifier)
        guard name.isInstance, name.identifier == identifier else { return nil }
        forgetUnused()
        let made = try loader.instantiate(name, log: log) {
            owner throws(ControlError) in
            guard try mayBe(owner) else { return false }
            try refuseExcess(of: owner.user)
            return true
        }
        guard let (app, program) = made else { return nil }
        loader.keep(program, of: app)
        catalog.add(app)
        programs?.watch(loader.programFiles)
        for fault in registration.add(app) { reporter.say(.error, fault.message) }
        if app.timer != nil || app.path != nil { triggers.update(catalog.apps) }
        return app
    }

    private func refuseExcess(of user: UInt32) throws(ControlError) {
        let (own, all) = (catalog.onDemandCount(of: user), catalog.onDemandCount)
        switch Self.onDemandLimit.excess(of: user, own: own, taken: all) {
        case .all(let limit): throw .limitExceeded(what: "instances of templates", limit: limit)
        case .ofUser(let limit):
            throw .limitExceeded(
                what: "instances of one user's templates, next to those of others", limit: limit)
        case nil: break
        }
    }

    /// Forgets instances of templates that are not running and for which nothing waits. Must not be
    /// called while an effect is performed.
    func forgetUnused() {
        guard catalog.onDemandCount > 0 else { return }
        for app in catalog.apps where app.isMadeOnDemand && isUnused(app.identifier) {
            catalog.remove(app.identifier, isUnused: true)
            registration.remove(app.identifier, isGone: true)
        }
    }

    private func isUnused(_ app: AppIdentifier) -> Bool {
        let lifecycle = core.lifecycle
        guard lifecycle.instances(of: app).allSatisfy({ $0.state == .notRunning }) else {
            return false
        }
        let now = core.now
        let record = lifecycle.app(app)
        if lifecycle.isAwaited(app) || lifecycle.isForceQuit(app) { return false }
        // The app waits for its timer or for a file.
        if catalog[app]?.timer != nil || catalog[app]?.path != nil { return false }
        // An app in a back-off is kept. Otherwise its failures would be forgotten with it, and it
        // could fail again at once.
        return [record?.prewarmRetryAt, record?.launchRetryAt, record?.crashLoopUntil]
            .allSatisfy { $0 == nil || $0! <= now }
    }
}
