internal import Glibc
internal import GreenroomLinux
internal import Systemd

/// An instance whose spawner died. Only its pidfd reports its end. The pidfd also reports the exit
/// status, if the kernel can (6.15) and the new parent has reaped the process. Without a cgroup,
/// its processes are reached by their process group: the spawner made each instance the leader of a
/// session.
@LoopActor
final class Orphan {
    private unowned let instance: Instance
    private let onEnd: (TerminationStatus) -> Void
    /// How many more times to look for the exit status.
    private var patience = 12
    private var source: EventSource?
    private var look: RepeatedLook?

    /// - Parameter onEnd: called once, when no process of the instance is left.
    init(
        _ instance: Instance, onEnd: @escaping (TerminationStatus) -> Void
    ) throws(SystemdError) {
        self.instance = instance
        self.onEnd = onEnd
        source = try LoopActor.io(instance.process.descriptor.rawValue, .readable) {
            [unowned self] _ in ended()
        }
    }

    /// Sends the signal to every process of the group, while the group's leader lives (kill(2)).
    func signalGroup(_ number: CInt) {
        guard instance.cgroup == nil, (try? instance.process.send(signal: 0)) == true else {
            return
        }
        _ = Glibc.kill(-instance.pid, number)
    }

    /// The main process has ended. The other processes are killed, as the spawner would have done.
    private func ended() {
        source = nil
        // The number cannot have been given to another process within this turn of the loop.
        if instance.cgroup == nil { _ = Glibc.kill(-instance.pid, SIGKILL) }
        // Most instances are empty at the first look.
        let look = RepeatedLook(
            pauses: .milliseconds(2) ... .milliseconds(500), accuracy: .milliseconds(1)
        ) { [unowned self] in
            isOver()
        }
        self.look = look
        look.look()
    }

    private func isOver() -> Bool {
        try? instance.cgroup?.kill()
        let isPopulated = (try? instance.cgroup?.isPopulated()) ?? false
        guard !isPopulated, let status else { return false }
        onEnd(status)
        return true
    }

    /// Nil while the status may still become known: a parent that has other work reaps later.
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
