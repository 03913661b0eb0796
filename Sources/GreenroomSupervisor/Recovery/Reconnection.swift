internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Keeps the connection to the spawner: hands on its messages, and finds another spawner when it is
/// lost.
@LoopActor
final class Reconnection: SpawnerListener {
    /// Whether systemd starts and stops the spawner, whose apps then outlive the supervisor.
    let isManaged: Bool
    private let runtimeDirectory: String
    private let spawnerPath: String
    private let core: Core
    private let records: Records
    private let watchers: EventStream
    private let instances: InstanceTable
    private let spawner: CurrentSpawner
    private let sockets: ListeningSockets
    private let temporaryFolders: TemporaryFolders
    private let priorities: PriorityWriter
    private let events: SpawnerEvents
    private let recovery: Recovery
    private let degradations: Degradations
    private let log: Log
    private var onEnding: (() -> Void)?
    private var link: SpawnerLink
    private var retrial: EventSource?
    /// A spawner that did not answer and was killed; kept until it has ended.
    private var killed: ProcessDescriptor?
    private var killedWatch: EventSource?
    /// How many tries have met a silent spawner since the last one was lost.
    private var tryCount = 0
    /// What to do when the spawner has ended.
    private var whenEnding: Ending = .another

    private enum Ending {
        /// The spawner is lost: another one is found or started.
        case another
        /// The spawner was told to end.
        case last(() -> Void)
    }

    init(
        _ link: SpawnerLink, isManaged: Bool, runtimeDirectory: String, spawnerPath: String,
        core: Core, records: Records, watchers: EventStream, instances: InstanceTable,
        spawner: CurrentSpawner, sockets: ListeningSockets, temporaryFolders: TemporaryFolders,
        priorities: PriorityWriter, events: SpawnerEvents, recovery: Recovery,
        degradations: Degradations, log: Log
    ) {
        self.link = link
        self.isManaged = isManaged
        self.runtimeDirectory = runtimeDirectory
        self.spawnerPath = spawnerPath
        self.core = core
        self.records = records
        self.watchers = watchers
        self.instances = instances
        self.spawner = spawner
        self.sockets = sockets
        self.temporaryFolders = temporaryFolders
        self.priorities = priorities
        self.events = events
        self.recovery = recovery
        self.degradations = degradations
        self.log = log
    }

    /// Gives the spawner to every room that needs one.
    func use(_ greeting: SpawnerLink.Greeting) {
        spawner.use(link)
        temporaryFolders.forget()
        priorities.controllersMayDiffer()
        instances.use(cgroups: greeting.welcome.cgroup.map(Cgroup.init(directory:)))
        degradations.forget()
        if let reason = greeting.welcome.degradation {
            degradations.note(
                Control.Note(
                    code: "no_cgroups",
                    text: "\(reason); apps are suspended with SIGSTOP, and memory is not accounted")
            )
        }
        link.tell(self)
    }

    /// Hands out the spawner's messages from now on. The instances that they are about must be
    /// known.
    ///
    /// - Parameter onEnding: called when systemd ends the spawner, and its apps with it.
    func activate(onEnding: @escaping () -> Void) throws {
        self.onEnding = onEnding
        try link.activate()
    }

    func received(_ message: SpawnerMessage) {
        // With systemd's Requires=, a crash of the spawner would also end the supervisor.
        if case .ending = message, isManaged, let onEnding { return onEnding() }
        events.handle(message)
    }

    // MARK: Another spawner

    /// The apps live on, because the supervisor holds their descriptors, too. Only exit statuses
    /// are lost, unless the spawner has merely executed itself anew.
    func lost() {
        switch whenEnding {
        case .another:
            tryCount = 0
            // Not at once: the loss may have been found out while an effect is being performed.
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
                runtimeDirectory: runtimeDirectory, spawnerPath: spawnerPath,
                mayStart: !isManaged, grace: core.lifecycle.policy.terminateGrace,
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
        degradations.note(
            Control.Note(code: "no_spawner", text: "reaching the spawner: \(error)"))
        spawner.useNone()
        recovery.failPendingOrders()
        // systemd starts the spawner again within moments. A spawner that the supervisor starts is
        // tried as often.
        tryAgain(after: .milliseconds(500))
    }

    private func replace(with next: SpawnerLink, _ greeting: SpawnerLink.Greeting) throws {
        let inheritance = try Inheritance(greeting)
        records.move(to: inheritance.state, in: inheritance.memory, core.lifecycle)
        watchers.move(to: inheritance.memory, at: RuntimeState.byteCount)
        let orders = link.ordersToRepeat(by: next)
        link = next
        use(greeting)
        if greeting.kept.isEmpty { sockets.keepAll() }
        recovery.reconnect(with: greeting.instances, repeating: orders)
        instances.forgetFormerCgroups()
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

    /// Kills the spawner. It will never do what it has not done; the apps live on as after any
    /// other end of it.
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
        guard spawner.isThere else { return done() }
        whenEnding = .last(done)
        link.send(.shutDown(graceMilliseconds: graceMilliseconds))
    }
}

extension SpawnerLink.Greeting {
    var isManaged: Bool { welcome.isManaged }
}
