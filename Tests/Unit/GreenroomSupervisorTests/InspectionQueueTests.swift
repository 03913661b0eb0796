import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

/// Decides which app's recorded imports are inspected next.
@Suite struct `The queue of inspections` {
    private static func candidate(_ app: String) -> InspectionQueue.Candidate {
        .init(app: AppIdentifier(app), environmentKey: EnvironmentKey(0))
    }

    private static func drain(_ queue: inout InspectionQueue) -> [String] {
        var apps: [String] = []
        while let next = queue.popFirst() { apps.append(next.app.rawValue) }
        return apps
    }

    @Test func `serves one user's apps in their order`() {
        var queue = InspectionQueue()
        for app in ["a", "b", "c"] { queue.append(Self.candidate(app), of: 1000) }
        #expect(Self.drain(&queue) == ["a", "b", "c"])
        #expect(queue.isEmpty)
    }

    @Test func `lets users take turns, however many apps one of them has`() {
        var queue = InspectionQueue()
        for app in ["a", "b", "c"] { queue.append(Self.candidate(app), of: 1000) }
        queue.append(Self.candidate("other"), of: 1001)
        #expect(Self.drain(&queue) == ["a", "other", "b", "c"])
    }

    @Test func `remembers how often a candidate gave way, also if it is wanted again`() {
        var queue = InspectionQueue()
        var candidate = Self.candidate("a")
        candidate.yieldCount = 2
        queue.append(candidate, of: 1000)
        queue.append(Self.candidate("a"), of: 1000)
        #expect(queue.popFirst()?.yieldCount == 2)
    }

    @Test func `does not serve a user again who comes back while another one waits`() {
        var queue = InspectionQueue()
        queue.append(Self.candidate("a"), of: 1000)
        #expect(queue.popFirst()?.app.rawValue == "a")
        queue.append(Self.candidate("a"), of: 1000)
        queue.append(Self.candidate("other"), of: 1001)
        #expect(Self.drain(&queue) == ["other", "a"])
    }

    @Test func `knows whether another user waits`() {
        var queue = InspectionQueue()
        queue.append(Self.candidate("a"), of: 1000)
        #expect(!queue.hasOthers(than: 1000) && queue.hasOthers(than: 1001))
    }

    @Test func `has each app once, and none that was removed`() {
        var queue = InspectionQueue()
        for app in ["a", "b", "a", "c"] {
            queue.append(Self.candidate(app), of: 1000)
        }
        queue.remove(AppIdentifier("b"))
        #expect(Self.drain(&queue) == ["a", "c"])
    }
}
