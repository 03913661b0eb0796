internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What apps say about the time that their launches and their callbacks take. An app can be wrong
/// only about itself.
@LoopActor
final class LaunchTraces {
    let core: Core
    let instances: InstanceTable
    private let metrics: Metrics
    private let reporter: Reporter

    final class Traced: InstancePart {
        var trace: LaunchTrace?
        /// How many slow callbacks were named since the launch or the latest return; counted also
        /// for an instance that a former supervisor launched.
        fileprivate var complaintCount = 0
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
        if let pausedAt = instances[instance]?.pausedAt {
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
