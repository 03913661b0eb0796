/// What is known about the suspension of an instance, from the first request or look at its file
/// locks on.
struct SuspensionProgress: Hashable, Sendable {
    /// What the shell can be asked to inspect before an instance is suspended.
    enum Inspection: Hashable, Sendable {
        case fileLocks, connections
    }

    /// What the shell is inspecting. An answer to another kind of inspection counts for nothing.
    var inspection: Inspection?
    /// The requests that wait until the instance is frozen.
    var waiters: [RequestIdentifier] = []
    /// When the instance was found to hold a file lock although it should be suspended, for the
    /// first time in this stay in the background.
    var fileLockedSince: Instant?
    private var wasRequested = false

    /// Whether a client wants the instance suspended, possibly before its background time is over.
    /// The client may have left.
    var isRequested: Bool { wasRequested || !waiters.isEmpty }

    /// Takes the answer to an inspection.
    /// - Returns: Whether somebody still wants to know it.
    mutating func take(_ answered: Inspection) -> Bool {
        guard inspection == answered else { return false }
        inspection = nil
        return true
    }

    /// Keeps that a client wants the suspension, because it may have left when the next answer
    /// comes.
    mutating func begin(isRequested: Bool) {
        wasRequested = isRequested || !waiters.isEmpty
    }

    /// The instance has changed its state, so it may hold other locks and connections than those
    /// that are being inspected. An inspection of file locks that clients wait for goes on, because
    /// its answer is theirs.
    mutating func stateChanged(to state: ExecutionState) {
        if inspection == .connections || waiters.isEmpty { inspection = nil }
        if state != .background { fileLockedSince = nil }
    }
}
