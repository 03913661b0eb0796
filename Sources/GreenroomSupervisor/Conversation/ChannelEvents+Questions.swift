internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// After a restart: what instances said to a supervisor that was killed is asked for again.
extension ChannelEvents {
    /// Listens again to an instance that was paused, or told to go, before the restart. What it
    /// said meanwhile is in its channel; what the former supervisor had read is asked for again.
    func resumeWatching(_ instance: Instance) {
        listen(to: instance)
        ping(instance)
    }

    /// The same for one that was paused: it is asked in its turn. To look at hundreds of them takes
    /// longer than clients should wait; who is launched before is looked at then.
    func watchPaused(_ instance: Instance) {
        listen(to: instance)
        unasked.append(instance.identifier)
        if askingTurn == nil { awaitAskingTurn() }
    }

    /// Few enough for their answers not to be in a client's way.
    private static let askedInATurn = 4

    private func awaitAskingTurn() {
        // Another each time: one that is enabled again goes before all others for ever.
        askingTurn = try? LoopActor.deferred { [unowned self] in askSome() }
        if askingTurn == nil { askSome() }
    }

    private func askSome() {
        for identifier in unasked.prefix(Self.askedInATurn) {
            guard core.lifecycle.instance(identifier)?.state == .prewarmed,
                let instance = instances[identifier], !instance.isInspected
            else { continue }
            ping(instance)
        }
        unasked.removeFirst(min(Self.askedInATurn, unasked.count))
        if unasked.isEmpty { askingTurn = nil } else { awaitAskingTurn() }
    }

    /// Asks an instance whether it still stands at its pause: it answers PONG there, while one
    /// that has started has closed its end.
    func ping(_ instance: Instance) {
        guard let channel = instance.channel,
            let message = try? DaemonMessage.ping(cookie: instance.expectPong()).encoded(),
            (try? channel.send(message.datagram)) != nil
        else { return receive(from: instance) }
    }
}
