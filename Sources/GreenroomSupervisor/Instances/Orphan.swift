internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// An instance whose spawner died. Only its pidfd tells of its end, and of its status where the kernel
/// does (6.15) and its new parent waits for it. Where it has no cgroup, its processes are reached by
/// their process group: the spawner made each the leader of a session.
@LoopActor
final class Orphan {
    private unowned let instance: Instance
    private let onEnd: (TerminationStatus) -> Void
    /// Times left to look for its status.
    private var patience = 12
    private var source: EventSource?
    private var timer: EventSource?
    private var delay: Duration = .milliseconds(1)
    /// Looking less often than this helps nobody; most are empty at the first look.
    private static let slowest: Duration = .milliseconds(500)

    /// - Parameter onEnd: called once, when no process of it is left.
    init(
        _ instance: Instance, onEnd: @escaping (TerminationStatus) -> Void
    ) throws(SystemdError) {
        self.instance = instance
        self.onEnd = onEnd
        source = try LoopActor.io(instance.process.descriptor.rawValue, .readable) {
            [unowned self] _ in ended()
        }
    }

    /// To every process of the group while its leader lives (kill(2)).
    func signalGroup(_ number: CInt) {
        guard instance.cgroup == nil, (try? instance.process.send(signal: 0)) == true else {
            return
        }
        _ = Glibc.kill(-instance.pid, number)
    }

    /// The main process ended: the rest goes with it, as the spawner would have seen to.
    private func ended() {
        source = nil
        // Its number cannot have come round again within this turn of the loop.
        if instance.cgroup == nil { _ = Glibc.kill(-instance.pid, SIGKILL) }
        timer = try? LoopActor.timer(accuracy: .milliseconds(1)) { [unowned self] in look() }
        look()
    }

    private func look() {
        try? instance.cgroup?.kill()
        let isPopulated = (try? instance.cgroup?.isPopulated()) ?? false
        if !isPopulated, let status { return onEnd(status) }
        delay = min(delay * 2, Self.slowest)
        try? timer?.setDeadline(after: delay)
    }

    /// Nil while it may still become known: a parent that has other work reaps later.
    private var status: TerminationStatus? {
        switch instance.process.exit {
        case .known(let status): return status
        case .untold: return .unknown
        case .pending:
            patience -= 1
            return patience > 0 ? nil : .unknown
        }
    }
}
