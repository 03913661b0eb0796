internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// After a restart, asks instances again for what they said to a supervisor that was killed.
extension ChannelEvents {
    /// Listens again to an instance that was paused, or told to go, before the restart. What it has
    /// said since is in its channel; what the former supervisor had read is asked for again.
    func resumeWatching(_ instance: Instance) {
        listen(to: instance)
        ping(instance)
    }

    /// The same for an instance that was paused, but it is asked later, in its turn: to inspect
    /// hundreds of instances takes longer than clients should wait. An instance that is launched
    /// before its turn is inspected at the launch.
    func watchPaused(_ instance: Instance) {
        listen(to: instance)
        unasked.append(instance.identifier)
        if !askingTurns.areUnderWay { askingTurns.ask() }
    }

    /// At most this many instances are asked in a turn, so that their answers do not delay clients.
    private static let askedInATurn = 4

    func askSome() {
        for identifier in unasked.prefix(Self.askedInATurn) {
            guard let record = core.lifecycle.instance(identifier), record.state == .prewarmed,
                let instance = instances[identifier], !instance.isInspected
            else { continue }
            // A frozen instance cannot answer, and has done nothing since it was frozen.
            if record.otherThreads == .frozen { isStillPaused(instance) } else { ping(instance) }
        }
        unasked.removeFirst(min(Self.askedInATurn, unasked.count))
        if unasked.isEmpty { askingTurns.end() } else { askingTurns.ask() }
    }

    /// Asks an instance whether it is still paused. A paused instance answers PONG; one that has
    /// started has closed its end of the channel.
    func ping(_ instance: Instance) {
        guard let channel = instance.channel,
            let message = try? DaemonMessage.ping(cookie: instance.expectPong()).encoded(),
            (try? channel.send(message.datagram)) != nil
        else { return receive(from: instance) }
    }
}
