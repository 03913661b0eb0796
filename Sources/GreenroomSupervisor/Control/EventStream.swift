internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Numbers what happens and tells every watcher. A watcher that does not read is dropped by its
/// connection's output limit; nobody else notices.
@LoopActor
final class EventStream {
    private var watchers: [UInt64: (connection: ControlConnection, mayObserve: (String?) -> Bool)] =
        [:]
    private(set) var sequence: UInt64 = 0

    var isWatched: Bool { !watchers.isEmpty }

    func add(_ connection: ControlConnection, mayObserve: @escaping (String?) -> Bool) {
        watchers[connection.identifier] = (connection, mayObserve)
        connection.onClose.append { [weak self] in self?.watchers[$0.identifier] = nil }
        connection.update(ControlReply.watched(nil))
    }

    /// The event is built only if somebody watches.
    func publish(_ make: (_ sequence: UInt64) -> Control.Event) {
        sequence += 1
        if watchers.isEmpty { return }
        let event = make(sequence)
        for watcher in watchers.values where watcher.mayObserve(event.app) {
            watcher.connection.update(ControlReply.watched(event))
        }
    }
}
