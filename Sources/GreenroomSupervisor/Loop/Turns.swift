internal import Systemd

/// Work that is done in turns with the other events of the loop. Each turn has a source of its own:
/// a source that is enabled again counts as older than an event that has just arrived, and would
/// always go first. (``Rounds`` is for work that has a lower priority.)
@LoopActor
final class Turns {
    private let run: () -> Void
    private var source: EventSource?

    /// - Parameter run: does what one turn has time for, and asks for another turn if there is more
    ///   to do.
    init(_ run: @escaping () -> Void) { self.run = run }

    /// True from the first turn that was asked for until ``end()``.
    var areUnderWay: Bool { source != nil }

    /// Asks for one turn. If no source can be made (out of memory, for example), does the work at
    /// once: others are not served in between.
    func ask() {
        source = try? LoopActor.deferred { [unowned self] in run() }
        if source == nil { run() }
    }

    /// Cancels the turn that was asked for.
    func end() { source = nil }
}
