internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns what instances say on their channels into events of the core: that they are paused, that
/// they have started, and whatever an app made with the SDK has to say after that.
@LoopActor
final class ChannelEvents {
    let core: Core
    let instances: InstanceTable
    private let catalog: AppCatalog
    private let spawner: CurrentSpawner
    private let contexts: LaunchContexts
    private let launcher: Launcher
    private let ends: MemoryEnds
    private let deliveries: MetricDeliveries
    private let reports: ApplicationReports
    private let reporter: Reporter
    private let readiness: ReadinessListener?
    private let inspector: PausedInspector
    private let watches: BusWatches
    /// Paused instances of a former supervisor that have not been asked yet whether they are still
    /// paused.
    var unasked: [InstanceIdentifier] = []
    private(set) lazy var askingTurns = Turns { [unowned self] in askSome() }

    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)

    /// At most this many messages are read in a row. An app sends two messages before it starts,
    /// and an answer to each ping. One that sends more (another process of it may go on after its
    /// main process has ended) must not delay everybody else.
    private static let drainLimit = 64

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, spawner: CurrentSpawner,
        contexts: LaunchContexts, launcher: Launcher, ends: MemoryEnds,
        deliveries: MetricDeliveries, reports: ApplicationReports,
        readiness: ReadinessListener?, inspector: PausedInspector, watches: BusWatches,
        reporter: Reporter
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.spawner = spawner
        self.contexts = contexts
        self.launcher = launcher
        self.ends = ends
        self.deliveries = deliveries
        self.reports = reports
        self.reporter = reporter
        self.readiness = readiness
        self.inspector = inspector
        self.watches = watches
    }

    /// Watches the app channel until the app has started.
    func listen(to instance: Instance) {
        awaitOutput(of: instance)
        do throws(SystemdError) {
            try instance.watchChannel { [unowned self] in receive(from: $0) }
        } catch {
            reporter.failed("watching the channel of \(instance.app)", error)
        }
    }

    /// Makes the socket on which an instance that a former supervisor started can report that it is
    /// ready.
    func listenForReadiness(of instance: Instance) {
        guard let app = catalog[instance.app], app.readyCondition == .notify else { return }
        _ = readiness?.socketPath(of: app.account.user)
    }

    private func awaitOutput(of instance: Instance) {
        guard catalog[instance.app]?.readyCondition == .firstOutput else { return }
        readiness?.awaitOutput(of: instance.identifier)
    }

    /// Reads what the instance sent before it ended. If a program started and ended at once, its
    /// STARTED came before its exit and must count before it, although the exit arrived on another
    /// descriptor.
    func drain(_ identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        for _ in 0..<Self.drainLimit {
            guard instance.channel != nil, receiveOne(from: instance) else { return }
        }
    }

    func receive(from instance: Instance) { _ = receiveOne(from: instance) }

    /// - Returns: true if there was a message.
    private func receiveOne(from instance: Instance) -> Bool {
        guard let channel = instance.channel else { return false }
        let message: AppMessage
        do {
            guard let (byteCount, hasDescriptors) = try peek(channel) else { return false }
            // An app has no reason to send descriptors. If we received them we would have to close
            // them, which may take any time; the disposer closes the channel, and them with it.
            // (Kernels from 6.16 on let none arrive.)
            guard byteCount > 0, !hasDescriptors else { return lost(instance) }
            let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            message = try AppMessage(
                decoding: bytes.extracting(first: byteCount), descriptorCount: 0)
            if !Self.isTakenOnceRecorded(message) { try channel.discard() }
        } catch {
            // A newer SDK may send messages that we do not know.
            guard isApplication(instance), ForeignMessage.caused(error),
                (try? channel.discard()) != nil
            else { return lost(instance) }
            return true
        }
        return heard(message, from: instance)
    }

    /// Whether the message is taken from the channel only after it was recorded. If we were killed
    /// between taking STARTED and recording it, nobody could tell a program that runs from one that
    /// never started. The same holds for acknowledgements, which may count twice.
    private static func isTakenOnceRecorded(_ message: AppMessage) -> Bool {
        switch message {
        case .started, .startedAnew, .report: true
        case .paused, .pong, .error, .wantsName: false
        }
    }

    /// - Returns: false if the channel was closed.
    private func heard(_ message: AppMessage, from instance: Instance) -> Bool {
        switch message {
        case .paused(let pause):
            instance.pausedAt = Instant(
                nanoseconds: min(pause.instant, core.now.nanoseconds))
            // Only once: inspecting an instance is expensive, and an app may send this as often as
            // it likes.
            let state = core.lifecycle.instance(instance.identifier)?.state
            if state == .prewarming {
                instance.hasPausedTooEarly =
                    pause.reason == .main && isPausedByCall(depth(of: instance))
                contexts.noticePause(
                    of: instance, threadCount: Int(pause.threadCount))
                paused(instance)
            }
        case .pong(let cookie):
            if instance.takePong(cookie) { isStillPaused(instance) }
        case .wantsName(let name):
            guard core.lifecycle.instance(instance.identifier)?.state == .prewarming,
                depth(of: instance) == .window
            else { return lost(instance) }
            watches.watch(name, for: instance.identifier)
        case .started: started(instance, anew: nil)
        case .startedAnew(_, let reason):
            started(instance, anew: GreenroomLifecycle.AnewReason(reason))
        case .report(let report):
            guard isApplication(instance) else { return lost(instance) }
            reports.received(report, from: instance)
            // This fails if the instance has ended in the meantime.
            try? instance.channel?.discard()
        case .error(let code, let cookie): return failed(instance, code, cookie)
        }
        return true
    }

    /// The app could not do what it was sent, or does not know the message.
    /// - Returns: false if the app cannot go on.
    private func failed(_ instance: Instance, _ code: CInt, _ cookie: UInt64) -> Bool {
        if deliveries.acknowledged(cookie, handled: false, by: instance.identifier) { return true }
        // A running app goes on, even if it did not understand a message.
        if hasLaunched(instance), isApplication(instance) { return true }
        let isPrewarming = core.lifecycle.instance(instance.identifier)?.state == .prewarming
        // The preload library sends this code instead of saying that it has paused.
        let isChanged = isPrewarming && code == ENOTRECOVERABLE
        if isChanged { core.handle(.misfired(instance.identifier, .changesProcess)) }
        // The library that withholds windows says why it cannot.
        if isPrewarming, depth(of: instance) == .window,
            let failure = WithholdingFailure(rawValue: code)
        {
            core.handle(.misfired(instance.identifier, Misfire(failure)))
            return lost(instance)
        }
        if core.lifecycle.misfire(of: instance.app) == nil {
            reporter.say(
                .warning,
                isChanged
                    ? "\(instance.app): a library that its caller's environment brings writes something "
                        + "when it is loaded, or changes the process, which a launch would lose"
                    : "\(instance.app) could not go: \(SystemError.text(of: code))",
                of: instance.app, instance.identifier)
        }
        return lost(instance)
    }

    private func depth(of instance: Instance) -> PrewarmDepth? {
        core.lifecycle.instance(instance.identifier)?.depth
    }

    /// Whether an instance of that depth pauses after main has begun.
    private func isPausedByCall(_ depth: PrewarmDepth?) -> Bool {
        depth == .runtime || depth == .window
    }

    private func isApplication(_ instance: Instance) -> Bool {
        catalog[instance.app]?.kind == .applicationKit
    }

    private func hasLaunched(_ instance: Instance) -> Bool {
        core.lifecycle.instance(instance.identifier)?.launchedAt != nil
    }

    /// If an app closed its end before it had read everything that we sent, the first call fails
    /// with ECONNRESET, and the next returns what the app had sent.
    private func peek(
        _ channel: UnixSocket
    ) throws(SystemError) -> (byteCount: Int, hasDescriptors: Bool)? {
        do throws(SystemError) {
            return unsafe try channel.peek(into: Self.buffer)
        } catch {
            guard error.code == ECONNRESET else { throw error }
            return unsafe try channel.peek(into: Self.buffer)
        }
    }

    /// The instance was paused when a former supervisor ran, and is still.
    func isStillPaused(_ instance: Instance) {
        contexts.recallPause(of: instance)
        paused(instance)
    }

    private func paused(_ instance: Instance) {
        instance.hasPaused = true
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
        let threadCount = ProcessTable.entry(of: instance.pid)?.threadCount ?? 1
        core.handle(
            .paused(
                identifier, byteCount: known ?? instance.byteCount,
                hasOtherThreads: threadCount > 1, isTooEarly: instance.hasPausedTooEarly))
        if finding == .unanswered {
            reporter.say(
                .warning,
                "\(instance.app): nobody can look into its process, whose memory lies in a file that "
                    + "cannot be read: it is ended", of: instance.app, identifier)
        }
        if finding != .usable { core.handle(.becameStale(identifier)) }
    }

    /// The spawner has stopped tracing the instance, as it was asked to when the instance had
    /// paused.
    func unguarded(_ identifier: InstanceIdentifier) {
        guard let instance = instances[identifier], instance.isGuarded else { return }
        instance.isGuarded = false
        guard instance.hasPaused, core.lifecycle.instance(identifier)?.state == .prewarming
        else { return }
        paused(instance)
    }

    private func started(_ instance: Instance, anew reason: GreenroomLifecycle.AnewReason?) {
        // First, because the client waits for its answer.
        core.handle(.started(instance.identifier, anew: reason))
        launcher.awaitReadiness(of: instance)
        inspector.forget(instance.identifier)
        watches.end(instance.identifier)
        // An SDK app keeps its channel for the life-cycle events; the shim has closed its end.
        if catalog[instance.app]?.kind != .applicationKit {
            instance.closeChannel()
        } else {
            try? instance.channel?.discard()
        }
    }

    @discardableResult
    private func lost(_ instance: Instance) -> Bool {
        instance.closeChannel()
        ends.examineLost(instance.identifier)
        core.handle(.channelLost(instance.identifier))
        return false
    }
}
