internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns what instances say on their channels into events of the core: that they are paused, that they
/// have started, and whatever an app with an SDK has to say after that.
@LoopActor
final class ChannelEvents {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    private let disposer: Disposer
    private let readiness: ReadinessListener?
    private let inspector: PausedInspector
    /// Paused instances of a former supervisor, to be asked whether they stand there still.
    var unasked: [InstanceIdentifier] = []
    var askingTurn: EventSource?

    private static let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)

    /// An app has two things to say before it starts, and an answer to each ping. One that says more
    /// (a process of it may go on when the first has ended) must not hold up everybody else.
    private static let drainLimit = 64

    init(
        supervisor: Supervisor, catalog: AppCatalog, readiness: ReadinessListener?,
        inspector: PausedInspector, disposer: Disposer
    ) {
        self.disposer = disposer
        self.supervisor = supervisor
        self.catalog = catalog
        self.readiness = readiness
        self.inspector = inspector
    }

    /// Watches the app channel until the app has started.
    func listen(to instance: Instance) {
        awaitOutput(of: instance)
        do throws(SystemdError) {
            try instance.watchChannel { [unowned self] in receive(from: $0) }
        } catch {
            supervisor.reporter.failed("watching the channel of \(instance.app)", error)
        }
    }

    private func awaitOutput(of instance: Instance) {
        guard catalog[instance.app]?.readyCondition == .firstOutput else { return }
        readiness?.awaitOutput(of: instance.identifier)
    }

    /// A program that started and ended at once: its STARTED came before its exit and must count
    /// before it, though the exit arrived on another descriptor.
    func drain(_ identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier] else { return }
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
            guard let byteCount = try peek(channel) else { return false }
            guard byteCount > 0 else { return lost(instance) }
            let bytes = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(Self.buffer))
            message = try AppMessage(
                decoding: bytes.extracting(first: byteCount), descriptorCount: 0)
            if !Self.isTakenOnceRecorded(message) { try take(channel) }
        } catch {
            // A newer SDK may say what we do not know.
            guard isApplication(instance), ForeignMessage.caused(error),
                (try? take(channel)) != nil
            else { return lost(instance) }
            return true
        }
        return heard(message, from: instance)
    }

    /// STARTED is taken only when it is recorded: were we killed in between, nobody could tell a program
    /// that runs from one that never started. So are acknowledgements, which may count twice.
    private static func isTakenOnceRecorded(_ message: AppMessage) -> Bool {
        switch message {
        case .started, .report: true
        case .paused, .pong, .error: false
        }
    }

    /// - Returns: false if that was the end of it.
    private func heard(_ message: AppMessage, from instance: Instance) -> Bool {
        switch message {
        case .paused(let pause):
            instance.pausedAt = Instant(
                nanoseconds: min(pause.instant, supervisor.now.nanoseconds))
            // Once: looking at an instance costs much, and an app may say it as often as it likes.
            let state = supervisor.lifecycle.instance(instance.identifier)?.state
            if state == .prewarming {
                supervisor.launcher.contexts.noticePause(
                    of: instance, threadCount: Int(pause.threadCount))
                paused(instance)
            }
        case .pong(let cookie):
            if instance.takePong(cookie) {
                supervisor.launcher.contexts.recallPause(of: instance)
                paused(instance)
            }
        case .started: started(instance)
        case .report(let report):
            guard isApplication(instance) else { return lost(instance) }
            supervisor.applications.received(report, from: instance)
            // Unless it ended meanwhile.
            if let channel = instance.channel { try? take(channel) }
        case .error(let code, let cookie): return failed(instance, code, cookie)
        }
        return true
    }

    /// It could not do what it was sent, or knows nothing of it.
    /// - Returns: false if it cannot go on.
    private func failed(_ instance: Instance, _ code: CInt, _ cookie: UInt64) -> Bool {
        if supervisor.metrics.deliveries.acknowledged(cookie, handled: false) { return true }
        // What a running app did not understand is its own business.
        if hasLaunched(instance), isApplication(instance) { return true }
        let isPrewarming = supervisor.lifecycle.instance(instance.identifier)?.state == .prewarming
        // What the preload library says instead of that it has paused.
        let isChanged = isPrewarming && code == ENOTRECOVERABLE
        if isChanged { catalog[instance.app]?.isChangedByLibraries = true }
        supervisor.reporter.say(
            .warning,
            isChanged
                ? "\(instance.app): \(IneligibilityReason.changesProcess.explanation)"
                : "\(instance.app) could not be resumed: \(SystemError.text(of: code))",
            of: instance.app, instance.identifier)
        return lost(instance)
    }

    private func isApplication(_ instance: Instance) -> Bool {
        catalog[instance.app]?.kind == .applicationKit
    }

    private func hasLaunched(_ instance: Instance) -> Bool {
        supervisor.lifecycle.instance(instance.identifier)?.launchedAt != nil
    }

    /// An app that closed its end before it had read everything we sent shows as ECONNRESET once;
    /// then comes what it had said.
    private func peek(_ channel: UnixSocket) throws(SystemError) -> Int? {
        do throws(SystemError) {
            return unsafe try channel.peek(into: Self.buffer)
        } catch {
            guard error.code == ECONNRESET else { throw error }
            return unsafe try channel.peek(into: Self.buffer)
        }
    }

    /// Its bytes are known. Descriptors are none of an app's business: the disposer's.
    private func take(_ channel: UnixSocket) throws(SystemError) {
        _ = unsafe try channel.receive(into: Self.buffer) { disposer.stranger($0 ?? .max) }
    }

    private func paused(_ instance: Instance) {
        // First nobody traces it any more.
        if instance.isGuarded {
            supervisor.instances.spawner?.send(.unguard(instance: instance.identifier.rawValue))
            return
        }
        let isUsable = inspector.inspect(instance, app: catalog[instance.app])
        // What the supervisor before us measured holds: it has done nothing since.
        let known = supervisor.lifecycle.instance(instance.identifier)
            .flatMap { $0.state == .prewarmed && $0.byteCount > 0 ? $0.byteCount : nil }
        supervisor.handle(
            .paused(instance.identifier, byteCount: known ?? inspector.byteCount(of: instance)))
        if !isUsable { supervisor.handle(.becameStale(instance.identifier)) }
    }

    /// The spawner traces it no longer, as was asked when it had paused.
    func unguarded(_ identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier], instance.isGuarded else { return }
        instance.isGuarded = false
        if supervisor.lifecycle.instance(identifier)?.state == .prewarming { paused(instance) }
    }

    private func started(_ instance: Instance) {
        // The client waits for its answer; the rest can wait for us.
        supervisor.handle(.started(instance.identifier))
        supervisor.launcher.awaitReadiness(of: instance)
        inspector.forget(instance.identifier)
        // An SDK app keeps its channel for the life-cycle events; the shim has closed its end.
        if catalog[instance.app]?.kind != .applicationKit {
            instance.closeChannel()
        } else if let channel = instance.channel {
            try? take(channel)
        }
    }

    @discardableResult
    private func lost(_ instance: Instance) -> Bool {
        instance.closeChannel()
        supervisor.reclaimer.ends.examineLost(instance.identifier)
        supervisor.handle(.channelLost(instance.identifier))
        return false
    }
}
