internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Goes on with the conversations that a former supervisor had with instances, and asks again for
/// what the instances said to it.
@LoopActor
final class AdoptedConversations {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let channels: ChannelEvents
    private let prewarms: PrewarmReports
    private let messenger: AppMessenger
    /// Paused instances that have not been asked yet whether they are still paused.
    private var unasked: [InstanceIdentifier] = []
    private lazy var turns = Turns { [unowned self] in askSome() }

    /// At most this many instances are asked in a turn, so that their answers do not delay clients.
    private static let askedInATurn = 4

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, channels: ChannelEvents,
        prewarms: PrewarmReports, messenger: AppMessenger
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.channels = channels
        self.prewarms = prewarms
        self.messenger = messenger
    }

    func adopt(_ instance: Instance) {
        let record = core.lifecycle.instance(instance.identifier)
        switch record?.state {
        case .prewarmed: askLater(instance)
        case .prewarming: ask(instance)
        case .launching where record?.phase == .toldToGo: ask(instance)
        case .launching, .inactive, .active, .background, .suspended, .terminating, .notRunning,
            nil:
            guard catalog[instance.app]?.kind == .applicationKit else {
                return instance.closeChannel()
            }
            channels.listen(to: instance)
            if record?.launchedAt != nil { messenger.send(.askAgain, to: instance.identifier) }
        }
    }

    /// Listens to an instance that was being paused, or told to go. What it has said since is in its
    /// channel; what the former supervisor had read is asked for again.
    private func ask(_ instance: Instance) {
        channels.listen(to: instance)
        ping(instance)
    }

    /// Listens to an instance that was paused, and asks it later, in its turn: to inspect hundreds
    /// of instances takes longer than clients should wait. An instance that is launched before its
    /// turn is inspected at the launch.
    private func askLater(_ instance: Instance) {
        channels.listen(to: instance)
        unasked.append(instance.identifier)
        if !turns.areUnderWay { turns.ask() }
    }

    private func askSome() {
        for identifier in unasked.prefix(Self.askedInATurn) {
            guard let record = core.lifecycle.instance(identifier), record.state == .prewarmed,
                let instance = instances[identifier], !instance.pause.isInspected
            else { continue }
            // A frozen instance cannot answer, and has done nothing since it was frozen.
            if record.otherThreads == .frozen {
                prewarms.isStillPaused(instance)
            } else {
                ping(instance)
            }
        }
        unasked.removeFirst(min(Self.askedInATurn, unasked.count))
        if unasked.isEmpty { turns.end() } else { turns.ask() }
    }

    /// Asks an instance whether it is still paused. A paused instance answers PONG; one that has
    /// started has closed its end of the channel.
    private func ping(_ instance: Instance) {
        guard let channel = instance.channel,
            let message = try? DaemonMessage.ping(cookie: instance.pause.ask()).encoded(),
            (try? channel.send(message.datagram)) != nil
        else { return channels.receive(from: instance) }
    }
}
