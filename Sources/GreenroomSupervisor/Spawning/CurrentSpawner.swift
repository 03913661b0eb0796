internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The spawner that there is now: everybody's way to it, and another one when it is lost.
@LoopActor
final class CurrentSpawner {
    /// systemd starts and stops it, and its apps live longer than we do.
    let isManaged: Bool
    /// It ends, and its apps with it. (Requires= would also end us with a crash.)
    var onEnding: (() -> Void)?
    private(set) var link: SpawnerLink
    private let parts: Parts
    private let options: Options
    private var retrial: EventSource?

    private var supervisor: Supervisor { parts.supervisor }

    init(_ link: SpawnerLink, parts: Parts, options: Options, isManaged: Bool) {
        self.link = link
        self.parts = parts
        self.options = options
        self.isManaged = isManaged
    }

    var isThere: Bool { parts.launcher.spawner != nil }
    /// Nil while it is lost.
    var process: pid_t? { isThere ? link.process : nil }

    var recovery: Recovery {
        Recovery(
            supervisor: supervisor, events: parts.spawnerEvents, channels: parts.channelEvents,
            spawner: link)
    }

    /// Its news are taken from now on.
    func activate() throws { try link.activate() }

    /// Gives it to everybody who needs one.
    func use(_ greeting: SpawnerLink.Greeting) {
        parts.launcher.spawner = link
        parts.emptying.forget()
        supervisor.sockets.spawner = link
        parts.instances.spawner = link
        supervisor.reclaimer.priorities?.controllersMayDiffer()
        parts.instances.cgroups = greeting.welcome.cgroup.map(Cgroup.init(directory:))
        if let reason = greeting.welcome.degradation { noteDegradation(reason) }
        link.onMessage = { [unowned self] message in
            if case .ending = message, isManaged, let onEnding { return onEnding() }
            parts.spawnerEvents.handle(message)
        }
        link.onLost = { [unowned self] in lost() }
    }

    private func noteDegradation(_ reason: String) {
        let note = Control.Note(
            code: "no_cgroups",
            text: "\(reason); apps are suspended with SIGSTOP, and memory is not accounted")
        parts.control.degraded = [note]
        supervisor.reporter.sayOnce(note.text)
    }

    // MARK: Another one

    /// The apps live on: their descriptors are ours too. Only exit statuses are lost, unless the
    /// spawner has merely executed itself anew.
    private func lost() {
        parts.instances.spawner = nil
        parts.launcher.spawner = nil
        supervisor.sockets.spawner = nil
        // Not at once: an effect that is being performed may have found it out.
        tryAgain(after: .zero)
    }

    private func reopen() {
        do {
            let (link, greeting) = try SpawnerLink.open(
                runtimeDirectory: options.runtimeDirectory, spawnerPath: options.spawnerPath,
                mayStart: !isManaged, grace: supervisor.lifecycle.policy.terminateGrace,
                patience: SpawnerLink.shortPatience)
            try replace(with: link, greeting)
        } catch {
            supervisor.reporter.sayOnce("reaching the spawner: \(error)")
            parts.instances.orphan(allBut: [])
            recovery.failPendingOrders()
            // systemd starts it again within moments; a failing start of ours is tried as often.
            tryAgain(after: .milliseconds(500))
        }
    }

    private func replace(with next: SpawnerLink, _ greeting: SpawnerLink.Greeting) throws {
        let inheritance = try Inheritance(greeting)
        retrial = nil
        supervisor.use(inheritance.state, memory: inheritance.memory)
        try parts.events.keep(in: inheritance.memory, at: RuntimeState.byteCount)
        let orders = next.isSameSpawner(as: link) ? Array(link.openOrders.values) : []
        link = next
        use(greeting)
        if greeting.kept.isEmpty { supervisor.sockets.keepAll() }
        recovery.reconnect(with: greeting.instances, repeating: orders)
        parts.instances.forgetFormerCgroups()
        try link.activate()
        supervisor.reporter.say(.notice, "the spawner is back")
    }

    private func tryAgain(after delay: Duration) {
        do throws(SystemdError) {
            retrial = try LoopActor.timer(after: delay) { [unowned self] in reopen() }
        } catch {
            supervisor.reporter.failed("arming the timer", error)
        }
    }
}

extension SpawnerLink.Greeting {
    var isManaged: Bool { welcome.isManaged }
}
