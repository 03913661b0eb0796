internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Tells every watcher what happens, numbered for each. A watcher that does not read is dropped by its
/// connection's output limit; nobody else notices.
@LoopActor
final class EventStream {
    private final class Watcher {
        let connection: ControlConnection
        let mayObserve: (String?) -> Bool
        /// Counts what this one was told: the gaps of a common number would tell it of others.
        var sequence: UInt64 = 0

        init(_ connection: ControlConnection, _ mayObserve: @escaping (String?) -> Bool) {
            self.connection = connection
            self.mayObserve = mayObserve
        }
    }

    private var watchers: [UInt64: Watcher] = [:]

    var isWatched: Bool { !watchers.isEmpty }

    func add(_ connection: ControlConnection, mayObserve: @escaping (String?) -> Bool) {
        watchers[connection.identifier] = Watcher(connection, mayObserve)
        connection.onClose.append { [weak self] in self?.watchers[$0.identifier] = nil }
        connection.update(ControlReply.watched(nil))
    }

    /// The event is built only if somebody watches.
    func publish(_ make: () -> Control.Event) {
        if watchers.isEmpty { return }
        var event = make()
        for watcher in watchers.values where watcher.mayObserve(event.app) {
            watcher.sequence += 1
            event.sequence = watcher.sequence
            watcher.connection.update(ControlReply.watched(event))
        }
    }
}
