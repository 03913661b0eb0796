import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

/// The jobs in these tests are numbers.
@Suite final class `Calls that may wait for an app` {
    private var queue = DetachedQueue<Int>()
    private let stranger: UInt32 = 60_001

    private func add(
        _ job: Int, of app: String, user: UInt32? = nil, first: Bool = false
    ) -> Bool {
        queue.add(
            .init(app: AppIdentifier(app), user: user ?? stranger, job: job), first: first)
    }

    private func finish(_ app: String) -> (done: Int, isLate: Bool, next: Int?)? {
        queue.finish(of: AppIdentifier(app)).map { ($0.done.job, $0.isLate, $0.next?.job) }
    }

    private func giveUp(_ app: String) -> [Int] { queue.giveUp(AppIdentifier(app)).map(\.job) }

    private func endCurrent() -> Int? { queue.finishCurrent()?.job }

    private func handOver() -> String? { queue.handOver()?.rawValue }

    /// The job that the common worker begins; nil: there is none, or it is refused.
    private func begun() -> Int? {
        guard case .begin(let order)? = queue.next() else { return nil }
        return order.job
    }

    private func isRefused() -> Bool {
        if case .refuse? = queue.next() { true } else { false }
    }

    /// The common worker begins a job of the app, and it takes too long.
    private func hang(_ job: Int, of app: String, user: UInt32? = nil) -> Bool {
        add(job, of: app, user: user) && begun() == job && handOver() == app
    }

    @Test func `are made one after another, in their order`() {
        #expect(add(1, of: "a"))
        #expect(add(2, of: "b"))
        #expect(begun() == 1)
        #expect(begun() == nil)
        #expect(endCurrent() == 1)
        #expect(begun() == 2)
    }

    @Test func `go before the others if they are marked as first`() {
        #expect(add(1, of: "a"))
        #expect(add(2, of: "b", first: true))
        #expect(begun() == 2)
    }

    @Test func `of a slow app delay only the calls of that app`() {
        #expect(add(1, of: "slow"))
        #expect(add(2, of: "slow"))
        #expect(add(3, of: "other"))
        #expect(begun() == 1)
        #expect(handOver() == "slow")
        #expect(queue.current == nil)
        #expect(begun() == 3)
        #expect(add(4, of: "slow"))
        #expect(begun() == nil)
        let first = finish("slow")
        #expect(first?.done == 1)
        #expect(first?.isLate == false)
        #expect(first?.next == 2)
        #expect(finish("slow")?.next == 4)
        let last = finish("slow")
        #expect(last?.done == 4)
        #expect(last?.next == nil)
        #expect(finish("slow") == nil)
    }

    @Test func `are given up together when one has taken too long`() {
        #expect(hang(1, of: "slow"))
        #expect(add(2, of: "slow"))
        #expect(giveUp("slow") == [1, 2])
        #expect(giveUp("slow").isEmpty)
        #expect(!add(3, of: "slow"))
        let late = finish("slow")
        #expect(late?.done == 1)
        #expect(late?.isLate == true)
        #expect(late?.next == nil)
        // The worker answers again, so another job may be added.
        #expect(add(4, of: "slow"))
        #expect(begun() == 4)
    }

    @Test func `wait in a limited number after a slow call`() {
        #expect(hang(0, of: "slow"))
        for job in 1...DetachedQueue<Int>.waitingPerApp {
            #expect(add(job, of: "slow"))
        }
        #expect(!add(-1, of: "slow"))
        #expect(!add(-1, of: "slow", first: true))
    }

    @Test func `are refused if the user has the allowed number of slow apps already`() {
        for number in 1...DetachedQueue<Int>.workersPerUser {
            #expect(hang(number, of: "slow\(number)"))
        }
        #expect(add(10, of: "fast"))
        #expect(isRefused())
        #expect(add(11, of: "fast", user: stranger + 1))
        #expect(begun() == 11)
        #expect(endCurrent() == 11)
        #expect(finish("slow1")?.done == 1)
        #expect(add(12, of: "fast"))
        #expect(begun() == 12)
    }

    @Test func `of other users leave workers for root`() {
        let perUser = DetachedQueue<Int>.workersPerUser
        for number in 0..<DetachedQueue<Int>.workers {
            #expect(hang(number, of: "slow\(number)", user: stranger + UInt32(number / perUser)))
        }
        #expect(add(1000, of: "fast", user: stranger + 1000))
        #expect(isRefused())
        #expect(add(1001, of: "fast", user: 0))
        #expect(begun() == 1001)
    }

    @Test func `are not handed over when the common worker is idle`() {
        #expect(add(1, of: "a"))
        #expect(begun() == 1)
        #expect(endCurrent() == 1)
        #expect(endCurrent() == nil)
        #expect(handOver() == nil)
    }
}
