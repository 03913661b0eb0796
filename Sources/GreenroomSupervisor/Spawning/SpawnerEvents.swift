internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns what the spawner and the app channels say into events of the core.
@LoopActor
final class SpawnerEvents {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    let readiness: ReadinessListener?
    let inspector: PausedInspector
    var emptying: Emptying?
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
        inspector: PausedInspector
    ) {
        self.supervisor = supervisor
        self.catalog = catalog
        self.readiness = readiness
        self.inspector = inspector
    }

    func handle(_ message: SpawnerMessage) {
        if emptying?.take(message) == true { return }
        switch message {
        case .spawned(let record):
            let instance = supervisor.instances.adopt(record)
            instance.wasSpawned(
                scored: supervisor.instances.spawner?.answered?.oomScoreAdjustment)
            listen(to: instance)
            supervisor.applications.launches.send(to: instance)
            supervisor.handle(.spawned(instance.identifier))
            reportReadyIfUnobserved(instance)
            awaitListening(instance)
        case .spawnFailed(let number, let error):
            supervisor.spawnFailed(
                InstanceIdentifier(number),
                SpawnFailure(stage: error.deed, errno: error.code))
        case .exited(let number, let status):
            exited(InstanceIdentifier(number), ExitStatus(status))
        case .emptied(let number): supervisor.handle(.emptied(InstanceIdentifier(number)))
        case .failed(let number, _): supervisor.handle(.freezeFailed(InstanceIdentifier(number)))
        case .stopped(let number): supervisor.instances.wasStopped(InstanceIdentifier(number))
        case .welcome, .instance, .kept, .ending: break
        }
    }

    func exited(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        let hadChannel = supervisor.instances[identifier]?.channel != nil
        drainChannel(of: identifier)
        var status = status
        let record = supervisor.lifecycle.instance(identifier)
        if record?.isUndecidedResume == true, !hadChannel {
            // Its channel was lost with a spawner and a supervisor: whether it ran cannot be known, and
            // a pause that finds nobody exits with 0. Launched again, it might run twice.
            supervisor.handle(.started(identifier))
            status = .unknown
        }
        supervisor.reclaimer.ends.examine(identifier, status)
        supervisor.handle(.exited(identifier, status))
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

    /// An app whose first output makes it ready, but whose output its client has: ready as it runs.
    private func reportReadyIfUnobserved(_ instance: Instance) {
        let state = supervisor.lifecycle.instance(instance.identifier)?.state
        guard state != .prewarming, supervisor.launcher.takeHasOwnOutput(instance.identifier),
            catalog[instance.app]?.readyCondition == .firstOutput
        else { return }
        supervisor.handle(.becameReady(instance.identifier))
    }

    /// A launched one that is ready once it listens: looked at from now on.
    private func awaitListening(_ instance: Instance) {
        guard catalog[instance.app]?.readyCondition == .listening else { return }
        supervisor.sockets.awaitListening(instance)
    }

    private func awaitOutput(of instance: Instance) {
        guard catalog[instance.app]?.readyCondition == .firstOutput else { return }
        readiness?.awaitOutput(of: instance.identifier)
    }

    /// Asks an instance whether it still stands at its pause: it answers PONG there, while one
    /// that has started has closed its end.
    func ping(_ instance: Instance) {
        guard let channel = instance.channel,
            let message = try? DaemonMessage.ping(cookie: instance.expectPong()).encoded(),
            (try? channel.send(message.datagram)) != nil
        else { return receive(from: instance) }
    }

    /// A program that started and ended at once: its STARTED came before its exit and must count
    /// before it, though the exit arrived on another descriptor.
    func drainChannel(of identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier] else { return }
        for _ in 0..<Self.drainLimit {
            guard instance.channel != nil, receiveOne(from: instance) else { return }
        }
    }

    private func receive(from instance: Instance) { _ = receiveOne(from: instance) }

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
            // STARTED is taken only when it is recorded: were we killed in between, nobody could
            // tell a program that runs from one that never started. So are acknowledgements, which
            // may count twice.
            switch message {
            case .started, .report: break
            case .paused, .pong, .error: try take(channel)
            }
        } catch {
            // A newer SDK may say what we do not know.
            guard isApplication(instance), ForeignMessage.caused(error),
                (try? take(channel)) != nil
            else { return lost(instance) }
            return true
        }
        switch message {
        case .paused(let pause):
            instance.pausedAt = Instant(
                nanoseconds: min(pause.instant, supervisor.now.nanoseconds))
            // Once: looking at an instance costs much, and an app may say it as often as it likes.
            let state = supervisor.lifecycle.instance(instance.identifier)?.state
            if state == .prewarming { paused(instance) }
        case .pong(let cookie): if instance.takePong(cookie) { paused(instance) }
        case .started: started(instance)
        case .report(let report):
            guard isApplication(instance) else { return lost(instance) }
            supervisor.applications.received(report, from: instance)
            // Unless it ended meanwhile.
            if instance.channel != nil { try? take(channel) }
        case .error(let code, let cookie):
            // It knows nothing of what it was sent.
            if supervisor.metrics.deliveries.acknowledged(cookie, handled: false) { return true }
            // What a running app did not understand is its own business.
            if hasLaunched(instance), isApplication(instance) { return true }
            supervisor.reporter.say(
                .warning, "\(instance.app) could not be resumed: \(SystemError.text(of: code))",
                of: instance.app, instance.identifier)
            return lost(instance)
        }
        return true
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

    /// Its bytes are known. Descriptors are none of an app's business and closed.
    private func take(_ channel: UnixSocket) throws(SystemError) {
        _ = unsafe try channel.receive(into: Self.buffer)
    }

    private func paused(_ instance: Instance) {
        let isUsable = inspector.inspect(instance, app: catalog[instance.app])
        // What the supervisor before us measured holds: it has done nothing since.
        let known = supervisor.lifecycle.instance(instance.identifier)
            .flatMap { $0.state == .prewarmed && $0.byteCount > 0 ? $0.byteCount : nil }
        supervisor.handle(
            .paused(instance.identifier, byteCount: known ?? inspector.byteCount(of: instance)))
        if !isUsable { supervisor.handle(.becameStale(instance.identifier)) }
    }

    private func started(_ instance: Instance) {
        // The client waits for its answer; the rest can wait for us.
        supervisor.handle(.started(instance.identifier))
        reportReadyIfUnobserved(instance)
        awaitListening(instance)
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

extension ExitStatus {
    init(_ status: TerminationStatus) {
        switch status {
        case .exited(let code): self = .exited(UInt8(truncatingIfNeeded: code))
        case .signaled(let signal, let coreDumped):
            self = .signaled(UInt8(truncatingIfNeeded: signal), coreDumped: coreDumped)
        case .unknown: self = .unknown
        }
    }
}
