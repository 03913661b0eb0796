internal import Systemd

/// Waits for a fact that nobody reports in time: that the kernel has frozen a cgroup (poll(2) on
/// cgroup.events is limited to one wake-up in 10 ms), or stopped a process (only its parent hears).
/// Looks at once, then at doubling intervals. The core sets the deadline.
@LoopActor
final class RepeatedLook {
    private let isTrue: () -> Bool
    private let onTrue: () -> Void
    private var timer: EventSource?
    private var pause: Duration
    private let longestPause: Duration

    /// - Parameters:
    ///   - pauses: the first pause and the longest. Each pause is twice as long as the one before.
    ///   - accuracy: how much longer than that a pause may be.
    ///   - isTrue: looks; true ends the looking.
    ///   - onTrue: called after the last look.
    init(
        pauses: ClosedRange<Duration> = .microseconds(200) ... .milliseconds(50),
        accuracy: Duration = .microseconds(50), until isTrue: @escaping () -> Bool,
        then onTrue: @escaping () -> Void = {}
    ) {
        self.isTrue = isTrue
        self.onTrue = onTrue
        pause = pauses.lowerBound
        longestPause = pauses.upperBound
        // The reference is weak, because what is seen may end this object in the middle of a look.
        timer = try? LoopActor.timer(accuracy: accuracy) { [weak self] in self?.look() }
    }

    func look() {
        if isTrue() { return onTrue() }
        try? timer?.setDeadline(after: pause)
        pause = min(pause * 2, longestPause)
    }
}
