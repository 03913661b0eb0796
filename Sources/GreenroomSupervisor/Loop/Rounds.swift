internal import Systemd

/// Work that is done in portions. Each portion runs in a round of the loop, after everything of a
/// lower priority number that is ready by then. The loop's source is made at the first request.
@LoopActor
final class Rounds {
    private let priority: Int64
    private let run: () -> Void
    private var source: EventSource?

    /// - Parameters:
    ///   - priority: one of ``LoopPriority``.
    ///   - run: does one portion, and asks for the next round if there is more to do.
    init(priority: Int64, _ run: @escaping () -> Void) {
        self.priority = priority
        self.run = run
    }

    /// Asks for one round. Does nothing if a round was asked for and has not begun.
    func ask() throws(SystemdError) {
        if let source {
            source.isEnabled = true
        } else {
            source = try LoopActor.deferred(priority: priority) { [unowned self] in run() }
        }
    }
}
