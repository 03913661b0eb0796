import GreenroomLinux
import Systemd

/// Drives the disposer. Descriptors that a turn of the loop has let go of are handed over after the
/// turn, so that no answer waits for their closing. It notices a closing that hangs. While it is
/// idle, it costs nothing.
@LoopActor
final class Disposal {
    let disposer: Disposer
    private var turn: EventSource?
    private var nextLook: EventSource?
    private var reports: EventSource?
    private var isLooking = false

    init() throws {
        disposer = try Disposer()
        // Runs after what is ready now, but not after work that goes on and on (a reload in
        // portions): somebody may be waiting until a descriptor is closed here.
        turn = try LoopActor.deferred { [unowned self] in
            lookAgain(if: disposer.handOver())
        }
        turn?.isEnabled = false
        nextLook = try LoopActor.timer { [unowned self] in
            isLooking = false
            lookAgain(if: disposer.look())
        }
        reports = try LoopActor.io(disposer.reports.rawValue, .readable) { [unowned self] _ in
            lookAgain(if: disposer.heard())
        }
        disposer.setOnFirst { [weak self] in
            LoopActor.assumeIsolated { self?.turn?.isEnabled = true }
        }
    }

    private func lookAgain(if isOpen: Bool) {
        guard isOpen, !isLooking else { return }
        isLooking = true
        try? nextLook?.setDeadline(after: Disposer.patience)
    }
}
