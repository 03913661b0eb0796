internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What apps say about the time that their launches and their callbacks take. An app can be wrong
/// only about itself.
@LoopActor
final class LaunchTraces {
    private let core: Core
    private let instances: InstanceTable
    private let metrics: Metrics
    private let reporter: Reporter

    private final class Traced: InstancePart {
        var trace: LaunchTrace?
        /// How many slow callbacks were named since the launch or the latest return; counted also
        /// for an instance that a former supervisor launched.
        var complaintCount = 0
    }

    private static let complaintLimit = 16

    init(core: Core, instances: InstanceTable, metrics: Metrics, reporter: Reporter) {
        self.core = core
        self.instances = instances
        self.metrics = metrics
        self.reporter = reporter
    }

    func trace(of instance: InstanceIdentifier) -> LaunchTrace? {
        instances.known(Traced.self, of: instance)?.trace
    }

    func begin(_ instance: InstanceIdentifier, requestedAt: Instant) {
        var trace = LaunchTrace(requestedAt: requestedAt)
        if let pausedAt = instances.known(InstancePause.self, of: instance)?.reachedAt {
            trace.add("prewarmed", at: pausedAt)
        }
        set(trace, of: instance)
    }

    func set(_ trace: LaunchTrace, of instance: InstanceIdentifier) {
        guard let traced = instances.part(Traced.self, of: instance) else { return }
        traced.trace = trace
        traced.complaintCount = 0
    }

    /// Restores the trace of a launch that a former supervisor saw. Watchers are not told about
    /// that.
    func restore(_ launch: LaunchSteps, of instance: InstanceIdentifier) {
        guard trace(of: instance) == nil else { return }
        var trace = LaunchTrace(requestedAt: latest(launch.requestedAt))
        // Only the earlier of these two steps belongs to the launch: an app that was launched into
        // the foreground leaves it sooner or later, and one in the background may get there.
        let outcome = launch.steps.filter { $0.step == .active || $0.step == .background }
            .min { $0.instant < $1.instant }
        var steps =
            launch.steps
            .filter { ($0.step != .active && $0.step != .background) || $0 == outcome }
            .map { ("\($0.step)", latest($0.instant)) }
        if let drawnAt = launch.drawnAt { steps.append(("firstDraw", latest(drawnAt))) }
        if let pausedAt = launch.pausedAt { steps.append(("prewarmed", latest(pausedAt))) }
        for (name, instant) in steps.sorted(by: { $0.1 < $1.1 }) { trace.add(name, at: instant) }
        set(trace, of: instance)
    }

    func note(_ step: String, _ time: UInt64, of instance: Instance) {
        // An app that was launched into the foreground leaves it sooner or later: that is not a
        // step of its launch.
        if step == "background", trace(of: instance.identifier)?.hasBeenActive == true { return }
        note(step, latest(time), instance.app, instance.identifier)
    }

    func note(
        _ step: String, _ time: Instant, _ app: AppIdentifier, _ instance: InstanceIdentifier
    ) {
        guard let traced = instances.known(Traced.self, of: instance), var trace = traced.trace,
            trace.add(step, at: time)
        else { return }
        traced.trace = trace
        reporter.launchStep(
            step, of: app, instance,
            elapsedUSec: trace.requestedAt.duration(to: time).microseconds)
    }

    /// The time that the app states, but no later than now.
    func latest(_ time: UInt64) -> Instant {
        Instant(nanoseconds: min(time, core.now.nanoseconds))
    }

    func steps(of instance: InstanceIdentifier) -> [(name: String, elapsedUSec: Int64)] {
        guard let trace = trace(of: instance) else { return [] }
        return trace.steps.map {
            ($0.name, trace.requestedAt.duration(to: $0.instant).microseconds)
        }
    }

    func overran(_ instance: Instance, _ callback: String, _ duration: Duration) {
        guard metrics.wasAwake(instance.identifier, for: duration),
            let traced = instances.part(Traced.self, of: instance.identifier)
        else { return }
        let name = callback.printable(atMost: 100)
        traced.complaintCount += 1
        let mayComplain = traced.complaintCount <= Self.complaintLimit
        metrics.hung(
            instance.identifier, in: name, for: duration, isNews: mayComplain)
        guard mayComplain else { return }
        reporter.say(
            .warning,
            "\(instance.app): \(name) kept the main thread for \(duration.microseconds / 1000) ms; "
                + "move long work off it, or into afterLaunch", of: instance.app,
            instance.identifier)
    }
}

// Returns to the foreground. These times of a return are measured from its request: the thaw
// (`resume`), `willEnterForeground` and `active` when the app acknowledges them, and the app's
// first draw if the app reports it. Apps do not report the steps of a return, so that these times
// mean the same in all languages.

extension LaunchTraces {
    /// A client launched an app that runs already. If the app is in the foreground, this is not a
    /// return.
    func noteReturn(_ instance: InstanceIdentifier, _ requestedAt: Instant) {
        guard isReturning(instance) else { return }
        beginReturn(of: instance, requestedAt)
    }

    /// The app is told to take a step. The first step of a return is sent in the same turn of the
    /// loop in which a shell or a client asks for the return, so the return was requested now.
    func noteReturn(_ instance: InstanceIdentifier, _ step: LifecycleStep) {
        switch step {
        case .willEnterForeground, .connect: noteReturn(instance, core.now)
        case .didBecomeActive, .willResignActive, .didEnterBackground, .willTerminate,
            .connectInBackground, .disconnect:
            break
        }
    }

    func moved(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, from old: ExecutionState,
        to state: ExecutionState
    ) {
        switch state {
        case .background where old == .suspended && isReturning(instance):
            beginReturn(of: instance, core.now)
            noteReturn("resume", of: instance, app)
        case .inactive: noteReturn("willEnterForeground", of: instance, app)
        case .active:
            noteReturn("active", of: instance, app)
            instances.known(Traced.self, of: instance)?.trace?.isReturning = false
        case .background, .suspended:
            instances.known(Traced.self, of: instance)?.trace?.isReturning = false
        case .launching, .prewarming, .prewarmed, .terminating, .notRunning: break
        }
    }

    /// Whether the instance is in the background and is wanted in the foreground.
    private func isReturning(_ instance: InstanceIdentifier) -> Bool {
        guard let record = core.lifecycle.instance(instance), record.conversation != nil
        else { return false }
        return record.state == .background && !record.inBackground
    }

    private func beginReturn(of instance: InstanceIdentifier, _ requestedAt: Instant) {
        if let traced = instances.known(Traced.self, of: instance),
            traced.trace?.isReturning == true
        {
            traced.trace?.wasRequested(at: requestedAt)
        } else {
            set(LaunchTrace(requestedAt: requestedAt, isReturn: true), of: instance)
        }
    }

    private func noteReturn(_ step: String, of instance: InstanceIdentifier, _ app: AppIdentifier) {
        guard trace(of: instance)?.isReturning == true else { return }
        note(step, core.now, app, instance)
    }
}
