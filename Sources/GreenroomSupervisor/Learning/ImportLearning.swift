internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Learns what interpreters may import before their pause. A launch that was served from the pool
/// records what it imports; when it has ended and nothing is starting, the names are inspected; the
/// app is then made again, with what was found, and so are its paused instances.
///
/// One inspection runs at a time, with the lowest priority.
@LoopActor
final class ImportLearning {
    private typealias Candidate = InspectionQueue.Candidate

    private let core: Core
    private let catalog: AppCatalog
    private let lists: ImportLists
    private let records: ImportRecords
    private let orders: SpawnOrders
    private let spawner: CurrentSpawner
    private let installer: AppInstaller
    private let log: Log

    private var queue = InspectionQueue()
    private var running: ImportInspection?
    /// What the running inspection's process has written, while it is being read.
    private var trace: ImportTrace?
    private lazy var readings = Rounds(priority: LoopPriority.idle) { [unowned self] in readSome() }
    private var look: RepeatedLook?
    /// Makes apps again, when no effect is being performed.
    private lazy var reload = Turns { [unowned self] in installer.reloadInTurns() }
    private var numbers = FreshNumbers()
    private lazy var writes = DelayedWrites<AppIdentifier>(
        after: LearnedFiles.timesDelay, accuracy: .seconds(10)
    ) { [unowned self] in lists.write($0) }

    init(
        core: Core, catalog: AppCatalog, lists: ImportLists, records: ImportRecords,
        orders: SpawnOrders, spawner: CurrentSpawner, installer: AppInstaller, log: Log
    ) {
        self.core = core
        self.catalog = catalog
        self.lists = lists
        self.records = records
        self.orders = orders
        self.spawner = spawner
        self.installer = installer
        self.log = log
    }

    private func learning(of app: AppIdentifier) -> InstalledApp.Learning? {
        catalog[app]?.program.depth.learning
    }

    // MARK: What happens to instances

    func note(_ occurrence: Occurrence) {
        switch occurrence {
        case .exited(let record):
            guard records.hasNews(of: record) else { return }
            want(Candidate(app: record.app, environmentKey: record.environmentKey))
        case .launched(_, _, let app, let outcome) where outcome.kind == .prewarmed:
            if let learning = learning(of: app), learning.learned != nil {
                lists.served(app, learning.basis)
            }
        case .demoted(let instance, let app, let fault, _, _, _): demoted(instance, app, fault)
        case .depthTimed(let app):
            if let learning = learning(of: app), let times = core.lifecycle.depthTimes(of: app) {
                lists.note(times, of: app, learning.basis)
                writes.ask(app)
            }
        case .pressureChanged:
            if core.lifecycle.pressure != .none { interrupt(isAwaitedAgain: true) }
            lookForRest()
        case _: break
        }
    }

    /// A prewarm with a list has failed, three launches in a row were started anew, or launches are
    /// done no sooner than without the list. The list is to blame rather than the interpreter, so
    /// the app gets back what it had without the list, or without its beginning.
    private func demoted(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ fault: DepthFault
    ) {
        guard let learning = learning(of: app), learning.learned != nil else { return }
        let isInspectedAgain = lists.failed(app, learning.basis, fault)
        let isGivenUp = lists.abandonment(of: app, learning.basis) != nil
        log.say(
            .notice,
            "\(app): its instances no longer import anything before their pause, because "
                + (fault == .savesNothing ? "that saves nothing" : "that failed (\(fault))")
                + (isGivenUp ? "" : "; it is learned anew"),
            of: app.rawValue)
        if isInspectedAgain, let record = core.lifecycle.instance(instance) {
            want(Candidate(app: app, environmentKey: record.environmentKey))
        }
        reload.ask()
    }

    /// Forgets what was learned of the app's imports.
    func forget(_ app: AppIdentifier) {
        lists.forget(app)
        queue.remove(app)
        records.forget(app)
        if running?.candidate.app == app { interrupt(isAwaitedAgain: false) }
        reload.ask()
    }

    private func interrupt(isAwaitedAgain: Bool) {
        guard let running, trace == nil else { return }
        running.interrupt(spawner, isAwaitedAgain: isAwaitedAgain)
    }

    /// Writes at once the times that have not been written yet.
    func write() { writes.writeAll() }

    // MARK: Inspections

    private func want(_ candidate: Candidate) {
        guard let app = catalog[candidate.app] else { return }
        queue.append(candidate, of: app.account.user)
        lookForRest()
    }

    /// True if there is a spawner and the machine has memory to spare. Changes of both arrive as
    /// events.
    private var mayInspect: Bool {
        spawner.isThere && core.lifecycle.pressure == .none && !core.lifecycle.isShuttingDown
    }

    /// Waits until nothing is starting.
    private func lookForRest() {
        guard look == nil, running == nil, !queue.isEmpty, mayInspect else { return }
        let look = RepeatedLook(
            pauses: .milliseconds(50) ... .seconds(5), accuracy: .milliseconds(20)
        ) { [unowned self] in
            !core.lifecycle.isStarting || !mayInspect
        } then: { [unowned self] in
            self.look = nil
            begin()
        }
        self.look = look
        look.look()
    }

    private func begin() {
        guard mayInspect, let candidate = queue.popFirst() else { return }
        inspect(candidate)
        lookForRest()
    }

    private func inspect(_ candidate: Candidate) {
        guard let app = catalog[candidate.app], let learning = app.program.depth.learning,
            let runtime = app.program.depth.start?.runtime
        else { return }
        do {
            let inspection = try ImportInspection(
                of: candidate, learning, runtime, .inspection(numbers.next()),
                names: lists.recorded(of: candidate.app, learning.basis),
                takesBeginning: lists.takesBeginning(candidate.app, learning.basis))
            let begins = try inspection.begin(app, orders, spawner) { [unowned self] in
                queue.hasOthers(than: app.account.user)
            }
            if begins { running = inspection }
        } catch {
            log.say(
                .error, "inspecting the imports of \(candidate.app): \(error)",
                of: candidate.app.rawValue)
        }
    }

    /// The spawner reports on the process with this number.
    func received(_ message: SpawnerMessage, about number: SpawnNumber) {
        guard let running, running.number == number else { return }
        switch message {
        case .exited(_, let status): running.exited(status)
        case .emptied: running.wasEmptied()
        case .spawnFailed: return ended(running)
        case .welcome, .instance, .spawned, .failed, .kept, .ending, .stopped, .unguarded,
            .misfired, .cannotGuard, .executedSecurely, .listening, .cannotListen:
            return
        }
        if running.isOver, trace == nil { ended(running) }
    }

    /// There is another spawner, which runs none of our processes.
    func forgetSpawner() {
        if let running, running.isAwaitedAgain != false {
            lists.inspectionWasLost(running.candidate.app, running.basis)
            if lists.wantsRecord(of: running.candidate.app, running.basis) {
                want(running.candidate)
            }
        }
        (running, trace) = (nil, nil)
        lookForRest()
    }

    private func ended(_ inspection: ImportInspection) {
        spawner.send(.release(instance: inspection.number.rawValue))
        if let isAwaitedAgain = inspection.isAwaitedAgain {
            running = nil
            if isAwaitedAgain { want(inspection.candidate) }
            return lookForRest()
        }
        guard let written = inspection.written else {
            return inspection.wasCutShort ? lost(inspection) : conclude(inspection, nil)
        }
        guard inspection.isTraced else {
            return conclude(inspection, LearnedImports(report: written))
        }
        trace = ImportTrace(written)
        guard trace != nil else { return conclude(inspection, nil) }
        readSome()
    }

    /// Reads some of the trace, and the rest later: others are served in between.
    private func readSome() {
        guard let running, trace != nil else { return }
        if trace!.readSome() {
            do throws(SystemdError) { return try readings.ask() } catch {
                while trace!.readSome() {}
            }
        }
        conclude(running, running.findings(in: trace!))
    }

    /// Nothing was found out, and the list is not to blame: the process could not be started, or was
    /// killed. The next launch asks for another inspection.
    private func lost(_ inspection: ImportInspection) {
        running = nil
        let app = inspection.candidate.app
        lists.inspectionWasLost(app, inspection.basis)
        log.say(
            .notice, "\(app): the inspection of its imports could not be completed",
            of: app.rawValue)
        lookForRest()
    }

    private func conclude(_ inspection: ImportInspection, _ found: LearnedImports?) {
        (running, trace) = (nil, nil)
        let app = inspection.candidate.app
        lists.inspected(app, inspection.basis, found)
        if let found {
            log.say(
                .info,
                "\(app): learned \(found.names.count) imports; "
                    + "\(found.refused.count) are left to launches", of: app.rawValue)
        } else {
            log.say(
                .notice, "\(app): its imports cannot be inspected", of: app.rawValue)
        }
        reload.ask()
        lookForRest()
    }
}
