/// Something to do behind whatever else is ready, but not for ever: once the loop has dispatched so many
/// events of others, it comes before them. To be dropped on the loop.
@LoopActor @safe public final class PatientTurn {
    private var source: EventSource!
    private let priority: Int64
    private let patience: UInt64
    /// The round of the loop in which it has waited for long enough.
    private(set) var deadline: UInt64?

    /// SD_EVENT_PRIORITY_IMPORTANT (sd_event_source_set_priority(3)).
    private static let importantPriority: Int64 = -100

    /// - Parameters:
    ///   - priority: among sources that are ready together the lower value goes first.
    ///   - patience: events of others, each of which takes a round of the loop.
    public init(
        priority: Int64, patience: UInt64, _ fire: @escaping @LoopActor () -> Void
    ) throws(SystemdError) {
        self.priority = priority
        self.patience = patience
        source = try LoopActor.deferred(priority: priority) { [unowned self] in
            begin()
            fire()
        }
        source.isEnabled = false
    }

    deinit { LoopActor.shared.loop.forget(ObjectIdentifier(self)) }

    /// Asks for the next turn; asking again changes nothing.
    public func request() {
        guard deadline == nil else { return }
        deadline = LoopActor.shared.loop.wait(for: self, rounds: patience)
        source.isEnabled = true
    }

    func hasWaitedLongEnough() { source.priority = Self.importantPriority }

    private func begin() {
        if source.priority != priority { source.priority = priority }
        deadline = nil
    }
}
