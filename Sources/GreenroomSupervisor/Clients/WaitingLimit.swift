internal import Systemd

/// Limits how long descriptors that a client sent may wait until their message is complete and the
/// daemon handles it. The client's own end of the connection may be among them: the connection
/// would then never end by itself.
@LoopActor
final class WaitingLimit {
    nonisolated static let seconds = 30

    private let onLate: () -> Void
    private var timer: EventSource?
    private var hasBegun = false

    init(_ onLate: @escaping () -> Void) { self.onLate = onLate }

    /// Begins the time, if it has not begun.
    func begin() throws(SystemdError) {
        if hasBegun { return }
        if timer == nil {
            timer = try LoopActor.timer(
                accuracy: .seconds(1), priority: LoopPriority.waitingDescriptors
            ) { [unowned self] in
                hasBegun = false
                onLate()
            }
        }
        try timer?.setDeadline(after: .seconds(Self.seconds))
        hasBegun = true
    }

    /// Nothing waits any more.
    func end() {
        timer?.isEnabled = false
        hasBegun = false
    }

    /// A call was taken, so the time begins anew for what waits now.
    func callWasTaken() { hasBegun = false }

    /// The time is over, and what waits may wait for ever. The next call begins it anew.
    func holdOff() { hasBegun = true }
}
