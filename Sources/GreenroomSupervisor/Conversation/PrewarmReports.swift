internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// What instances say on the way to their pause, and while they are paused.
@LoopActor
final class PrewarmReports {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let spawner: CurrentSpawner
    private let contexts: LaunchContexts
    private let inspector: PausedInspector
    private let watches: BusWatches
    private let reporter: Reporter

    private final class Report: InstancePart {
        /// True if the instance has told this supervisor that it is paused.
        var hasPaused = false
        /// True if the instance has paused before it reached the depth that was asked for.
        var isTooEarly = false
    }

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, spawner: CurrentSpawner,
        contexts: LaunchContexts, inspector: PausedInspector, watches: BusWatches,
        reporter: Reporter
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.spawner = spawner
        self.contexts = contexts
        self.inspector = inspector
        self.watches = watches
        self.reporter = reporter
    }

    // MARK: Paused

    func paused(_ instance: Instance, _ pause: AppMessage.Pause) {
        instance.pause.reachedAt = Instant(nanoseconds: min(pause.instant, core.now.nanoseconds))
        // Each instance is inspected only once: an inspection is expensive, and an app may report
        // its pause as often as it likes.
        guard isPrewarming(instance) else { return }
        report(of: instance).isTooEarly =
            pause.reason == .main && isPausedByCall(depth(of: instance))
        contexts.noticePause(of: instance, threadCount: Int(pause.threadCount))
        paused(instance)
    }

    /// The instance was paused under a former supervisor, and still is.
    func isStillPaused(_ instance: Instance) {
        contexts.recallPause(of: instance)
        paused(instance)
    }

    private func paused(_ instance: Instance) {
        report(of: instance).hasPaused = true
        // The spawner must stop tracing the instance first.
        if instance.isGuarded {
            spawner.send(.unguard(instance: instance.identifier.rawValue))
            return
        }
        let identifier = instance.identifier
        // An instance that was told to go, and did not get that order, will never be launched.
        guard isWaiting(identifier) else {
            return core.handle(.paused(identifier, byteCount: 0))
        }
        inspector.inspect(instance, app: catalog[instance.app]) { [unowned self] finding in
            if isWaiting(identifier) { inspected(instance, finding) }
        }
    }

    /// True if the instance waits for a launch, and was not told to go.
    private func isWaiting(_ identifier: InstanceIdentifier) -> Bool {
        core.lifecycle.instance(identifier)?.state.isPrewarm == true
    }

    private func inspected(_ instance: Instance, _ finding: PausedInspector.Finding) {
        let identifier = instance.identifier
        // What the former supervisor measured still holds: the instance has done nothing since.
        let known = core.lifecycle.instance(identifier)
            .flatMap { $0.state == .prewarmed && $0.byteCount > 0 ? $0.byteCount : nil }
        // A program that is held must be frozen. If it has told of its pause without the library, it may
        // have one thread, which goes on.
        let hasOtherThreads =
            depth(of: instance) == .window
            || (ProcessTable.entry(of: instance.pid)?.threadCount ?? 1) > 1
        core.handle(
            .paused(
                identifier, byteCount: known ?? instance.byteCount,
                hasOtherThreads: hasOtherThreads, isTooEarly: report(of: instance).isTooEarly))
        if finding == .unanswered {
            reporter.say(
                .warning,
                "\(instance.app): its process cannot be inspected, because its memory lies in a "
                    + "file that cannot be read; it is ended", of: instance.app, identifier)
        }
        if finding != .usable { core.handle(.becameStale(identifier)) }
    }

    /// The spawner has stopped tracing the instance, as it was asked to when the instance had
    /// paused.
    func unguarded(_ identifier: InstanceIdentifier) {
        guard let instance = instances[identifier], instance.isGuarded else { return }
        instance.isGuarded = false
        guard report(of: instance).hasPaused,
            core.lifecycle.instance(identifier)?.state == .prewarming
        else { return }
        paused(instance)
    }

    // MARK: Before and after the pause

    /// A held program wants this name on its message bus.
    /// - Returns: false if the instance has no reason to say so.
    func watch(_ name: String, for instance: Instance) -> Bool {
        guard isPrewarming(instance), depth(of: instance) == .window else { return false }
        watches.watch(name, for: instance.identifier)
        return true
    }

    /// The instance cannot pause, or cannot go.
    func failed(_ instance: Instance, _ code: CInt) {
        let isPrewarming = isPrewarming(instance)
        // The preload library sends this code instead of saying that it has paused.
        let isChanged = isPrewarming && code == ENOTRECOVERABLE
        if isChanged { core.handle(.misfired(instance.identifier, .changesProcess)) }
        // The library that withholds windows says why it cannot, or can no longer.
        if core.lifecycle.instance(instance.identifier)?.state.isPrewarm == true,
            depth(of: instance) == .window, let failure = WithholdingFailure(rawValue: code)
        {
            return core.handle(.misfired(instance.identifier, Misfire(failure)))
        }
        // The library that withholds windows sends this when a file of settings that the program has
        // read has changed.
        if code == ESTALE, depth(of: instance) == .window {
            return core.handle(.becameStale(instance.identifier, because: .readFile))
        }
        guard core.lifecycle.misfire(of: instance.app) == nil else { return }
        let text =
            if isChanged {
                ": a library that its caller's environment brings writes something or changes the "
                    + "process when it is loaded, and a launch would lose that"
            } else if code == ETIMEDOUT, depth(of: instance) == .window {
                ": the display did not answer within a second, so the launch starts cold"
            } else {
                " could not go: \(SystemError.text(of: code))"
            }
        reporter.say(.warning, "\(instance.app)\(text)", of: instance.app, instance.identifier)
    }

    /// The instance goes on, so nothing is watched for its pause any more.
    func end(of instance: InstanceIdentifier) {
        inspector.forget(instance)
        watches.end(instance)
    }

    private func report(of instance: Instance) -> Report { instance.parts.part() }

    private func isPrewarming(_ instance: Instance) -> Bool {
        core.lifecycle.instance(instance.identifier)?.state == .prewarming
    }

    private func depth(of instance: Instance) -> PrewarmDepth? {
        core.lifecycle.instance(instance.identifier)?.depth
    }

    /// Whether an instance of that depth pauses after main has begun.
    private func isPausedByCall(_ depth: PrewarmDepth?) -> Bool {
        depth == .runtime || depth == .window
    }
}
