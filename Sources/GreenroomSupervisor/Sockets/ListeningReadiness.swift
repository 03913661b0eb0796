internal import GreenroomLinux
internal import Systemd

/// Finds out when an instance listens on a socket that it has made itself. The kernel tells nobody
/// of a listen(2) (unlike an exit or a write), so this looks into /proc: at once, after 2 ms, then
/// after twice as long each time, up to a quarter of a second, and never beyond the launch
/// deadline. Each look reads the instance's descriptors and its namespace's tables of sockets.
@LoopActor
final class ListeningReadiness {
    private let instance: Instance
    /// Called after each look; true ends the looking.
    private let onLook: (_ isListening: Bool) -> Bool
    private var timer: EventSource?
    private var delay: Duration = .milliseconds(1)
    private static let slowest: Duration = .milliseconds(250)
    /// At most this many processes of one instance are looked at.
    private static let processLimit = 64

    init(_ instance: Instance, onLook: @escaping (_ isListening: Bool) -> Bool) {
        self.instance = instance
        self.onLook = onLook
        // The reference is weak, because what is seen may end this object in the middle of a look.
        timer = try? LoopActor.timer { [weak self] in self?.look() }
    }

    func look() {
        let members = (try? instance.cgroup?.processes()) ?? [instance.pid]
        if onLook(ListeningProcess.isAmong(Array(members.prefix(Self.processLimit)))) { return }
        delay = min(delay * 2, Self.slowest)
        try? timer?.setDeadline(after: delay)
    }
}
