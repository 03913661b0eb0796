internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What apps say about the time that their launches take, and their callbacks. They can only be wrong
/// about themselves.
@LoopActor
final class LaunchTraces {
    private unowned let supervisor: Supervisor
    private var traces: [InstanceIdentifier: LaunchTrace] = [:]

    init(supervisor: Supervisor) { self.supervisor = supervisor }

    func begin(_ instance: InstanceIdentifier, requestedAt: Instant) {
        var trace = LaunchTrace(requestedAt: requestedAt)
        if let pausedAt = supervisor.instances[instance]?.pausedAt {
            trace.add("prewarmed", at: pausedAt)
        }
        traces[instance] = trace
    }

    /// Its clock starts anew with each return to the foreground.
    func noteReturn(_ instance: InstanceIdentifier, _ requestedAt: Instant) {
        guard supervisor.lifecycle.instance(instance)?.conversation != nil else { return }
        traces[instance] = LaunchTrace(requestedAt: requestedAt)
    }

    func note(_ step: String, _ time: UInt64, of instance: Instance) {
        let time = latest(time)
        guard var trace = traces[instance.identifier], trace.add(step, at: time) else { return }
        traces[instance.identifier] = trace
        supervisor.reporter.launchStep(
            step, of: instance.app, instance.identifier,
            elapsedUSec: trace.requestedAt.duration(to: time).microseconds)
    }

    /// The app's word, but nothing of the future has happened.
    func latest(_ time: UInt64) -> Instant {
        Instant(nanoseconds: min(time, supervisor.now.nanoseconds))
    }

    func forget(_ instance: InstanceIdentifier) { traces[instance] = nil }

    func steps(of instance: InstanceIdentifier) -> [(name: String, elapsedUSec: Int64)] {
        guard let trace = traces[instance] else { return [] }
        return trace.steps.map {
            ($0.name, trace.requestedAt.duration(to: $0.instant).microseconds)
        }
    }

    func overran(_ instance: Instance, _ callback: String, _ duration: Duration) {
        guard supervisor.metrics.wasAwake(instance.identifier, for: duration) else { return }
        let name = String(
            String.UnicodeScalarView(
                callback.unicodeScalars.prefix(100).filter { $0.value >= 0x20 }))
        var trace = traces[instance.identifier]
        let mayComplain = trace?.mayComplain() ?? false
        traces[instance.identifier] = trace
        supervisor.metrics.hung(
            instance.identifier, in: name, for: duration, isNews: mayComplain)
        guard mayComplain else { return }
        supervisor.reporter.say(
            .warning,
            "\(instance.app): \(name) kept the main thread for \(duration.microseconds / 1000) ms; "
                + "move long work off it, or into afterLaunch", of: instance.app,
            instance.identifier)
    }
}
