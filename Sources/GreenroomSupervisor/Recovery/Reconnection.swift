internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Keeps the connection to the spawner: passes on its messages, and finds another spawner when the
/// connection is lost.
@LoopActor
final class Reconnection: SpawnerListener {
    private let source: SpawnerSource
    private let users: SpawnerUsers
    private let memory: SpawnerMemory
    private let core: Core
    private let events: SpawnerEvents
    private let recovery: Recovery
    private let log: Log
    private var link: SpawnerLink
    private var retrial: EventSource?
    /// A spawner that did not answer and was killed; kept until it has ended.
    private var killed: ProcessDescriptor?
    private var killedWatch: EventSource?
    /// How many tries have met a silent spawner since the connection was last lost.
    private var tryCount = 0
    /// What to do when the spawner has ended.
    private var whenEnding: Ending = .another

    private enum Ending {
        /// The spawner is lost: another one is found or started.
        case another
        /// The spawner was told to end.
        case last(() -> Void)
    }

    /// - Parameter greeting: what the link's spawner has said. The rooms use this spawner from now
    ///   on.
    init(
        _ link: SpawnerLink, _ greeting: SpawnerLink.Greeting, from source: SpawnerSource,
        for users: SpawnerUsers, memory: SpawnerMemory, core: Core, events: SpawnerEvents,
        recovery: Recovery, log: Log
    ) {
        self.link = link
        self.source = source
        self.users = users
        self.memory = memory
        self.core = core
        self.events = events
        self.recovery = recovery
        self.log = log
        use(greeting)
    }

    /// Whether systemd starts and stops the spawner, whose apps then outlive the supervisor.
    var isManaged: Bool { !source.mayStart }

    private func use(_ greeting: SpawnerLink.Greeting) {
        users.use(link, greeting)
        link.tell(self)
    }

    /// Hands out the spawner's messages from now on. The instances that they are about must be
    /// known.
    func activate() throws { try link.activate() }

    func received(_ message: SpawnerMessage, answering order: SpawnSpecification?) {
        // systemd ends the spawner, and its apps with it. (With systemd's Requires=, a crash of the
        // spawner would also end the supervisor.)
        if case .ending = message, isManaged { return Self.endDaemon() }
        events.handle(message, answering: order)
    }

    /// Ends the daemon and leaves the spawner alone.
    static func endDaemon() {
        Notify.stopping(status: "stopping")
        LoopActor.shared.loop.exit(0)
    }

    // MARK: Another spawner

    /// The apps live on, because the supervisor holds their descriptors, too. Only exit statuses
    /// are lost, unless the spawner has merely executed itself again.
    func lost() {
        switch whenEnding {
        case .another:
            tryCount = 0
            // This does not happen at once, because the loss may have been noticed while an effect
            // is being performed.
            if killed == nil { tryAgain(after: .zero) }
        case .last(let done): done()
        }
    }

    private func reopen() {
        retrial = nil
        killedWatch = nil
        if let killed, !Self.hasEnded(killed) {
            return unreachable(
                SpawnerLink.Unavailable(
                    description: "it does not answer, and not even SIGKILL ends it while it waits "
                        + "in the kernel"))
        }
        killed = nil
        do {
            let (link, greeting) = try SpawnerLink.open(
                from: source, grace: core.lifecycle.policy.terminateGrace,
                patience: SpawnerLink.shortPatience)
            try replace(with: link, greeting)
        } catch let silence as SpawnerLink.Silence {
            tryCount += 1
            if tryCount >= SpawnerLink.shortTries { end(silence) }
            unreachable(silence)
        } catch {
            unreachable(error)
        }
    }

    private func unreachable(_ error: any Error) {
        users.useNone(because: error)
        recovery.failPendingOrders()
        // systemd starts the spawner again within moments. The supervisor tries as often to start a
        // spawner of its own.
        tryAgain(after: .milliseconds(500))
    }

    private func replace(with next: SpawnerLink, _ greeting: SpawnerLink.Greeting) throws {
        let left = try FormerState(greeting)
        memory.move(to: left, core.lifecycle)
        let orders = link.ordersToRepeat(by: next)
        link = next
        use(greeting)
        if greeting.kept.isEmpty { users.sockets.keepAll() }
        recovery.reconnect(with: greeting.instances, repeating: orders)
        users.instances.forgetFormerCgroups()
        try link.activate()
        log.say(.notice, "the spawner is back")
    }

    private func tryAgain(after delay: Duration) {
        do throws(SystemdError) {
            retrial = try LoopActor.timer(after: delay) { [unowned self] in reopen() }
        } catch {
            log.failed("arming the timer", error)
        }
    }

    // MARK: A spawner that does not answer

    func wasSilent() { end(SpawnerLink.Silence(process: link.processDescriptor)) }

    /// Kills the spawner. Whatever it has not done by now will not be done; the apps live on, as
    /// after any other end of the spawner.
    private func end(_ silence: SpawnerLink.Silence) {
        guard let process = silence.process, silence.kill() else { return }
        silence.say(log)
        killed = process
        killedWatch = try? LoopActor.io(process.descriptor.rawValue, .readable) {
            [unowned self] _ in reopen()
        }
        tryAgain(after: .milliseconds(SpawnerLink.endPatience))
        link.abandon()
    }

    private static func hasEnded(_ process: ProcessDescriptor) -> Bool {
        (try? process.descriptor.waitUntilReadable(milliseconds: 0)) != false
    }

    // MARK: The end

    /// The supervisor ends, and the spawner goes on.
    func leave() { link.leave() }

    /// Ends the spawner with all of its apps.
    ///
    /// - Parameter done: called when the spawner is gone; at once if there is none. A spawner that
    ///   does not answer is killed: nobody can do what it has not done.
    func end(graceMilliseconds: UInt32, then done: @escaping () -> Void) {
        guard users.spawner.isThere else { return done() }
        whenEnding = .last(done)
        link.send(.shutDown(graceMilliseconds: graceMilliseconds))
    }
}
