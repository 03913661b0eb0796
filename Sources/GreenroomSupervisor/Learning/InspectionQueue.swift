internal import GreenroomLifecycle

/// Apps whose recorded imports are to be inspected, each at most once. The users take turns: an
/// inspection may take minutes, and one user's apps must not delay those of another.
struct InspectionQueue {
    /// An app whose names are to be inspected, in this environment.
    struct Candidate: Hashable, Sendable {
        let app: AppIdentifier
        let environmentKey: EnvironmentKey
        /// How often its inspection gave way to other users before it was over.
        var yieldCount = 0
    }

    private var waiting: [(user: UInt32, candidate: Candidate)] = []
    /// Users who have had a turn, the last one at the end.
    private var turns: [UInt32] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether an app of another user waits.
    func hasOthers(than user: UInt32) -> Bool { waiting.contains { $0.user != user } }

    mutating func append(_ candidate: Candidate, of user: UInt32) {
        let yieldCount = waiting.first { $0.candidate.app == candidate.app }?.candidate.yieldCount
        remove(candidate.app)
        var candidate = candidate
        candidate.yieldCount = max(candidate.yieldCount, yieldCount ?? 0)
        waiting.append((user, candidate))
    }

    mutating func remove(_ app: AppIdentifier) {
        waiting.removeAll { $0.candidate.app == app }
    }

    /// The first candidate of the user whose turn was longest ago.
    mutating func popFirst() -> Candidate? {
        let lastTurns = waiting.map { turns.firstIndex(of: $0.user) ?? -1 }
        guard let index = lastTurns.indices.min(by: { lastTurns[$0] < lastTurns[$1] }) else {
            return nil
        }
        let (user, candidate) = waiting.remove(at: index)
        turns.removeAll { $0 == user }
        turns.append(user)
        return candidate
    }
}
