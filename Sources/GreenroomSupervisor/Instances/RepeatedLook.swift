internal import Systemd

/// Waits for a fact that nobody reports in time: that the kernel has frozen a cgroup (poll(2) on
/// cgroup.events is limited to one wake-up in 10 ms), or stopped a process (only its parent hears).
/// Looks at once, then at doubling intervals. The core sets the deadline.
@LoopActor
final class RepeatedLook {
    private let isTrue: () -> Bool
    private let onTrue: () -> Void
    private var timer: EventSource?
    private var delay: Duration = .microseconds(100)
    /// The longest delay between two looks.
    private static let slowest: Duration = .milliseconds(50)

    init(_ isTrue: @escaping () -> Bool, then onTrue: @escaping () -> Void) {
        self.isTrue = isTrue
        self.onTrue = onTrue
        timer = try? LoopActor.timer(accuracy: .microseconds(50)) { [unowned self] in look() }
    }

    func look() {
        if isTrue() { return onTrue() }
        delay = min(delay * 2, Self.slowest)
        try? timer?.setDeadline(after: delay)
    }
}
