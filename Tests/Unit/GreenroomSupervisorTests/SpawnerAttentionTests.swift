@testable import GreenroomSupervisor
import Testing

@Suite struct `A spawner's attention` {
    private func looks(
        _ attention: inout SpawnerAttention, unread: Int, orders: Bool
    ) -> Int {
        var count = 1
        while attention.judge(unreadByteCount: unread, hasOpenOrders: orders) == .mayStill {
            count += 1
        }
        return count
    }

    @Test func `a spawner that owes nothing is checked only once`() {
        var attention = SpawnerAttention()
        #expect(attention.judge(unreadByteCount: 0, hasOpenOrders: false) == .owesNothing)
    }

    @Test func `bytes left unread, or an order left open, make the spawner silent in the end`() {
        var first = SpawnerAttention()
        #expect(looks(&first, unread: 5, orders: false) == SpawnerAttention.patience)
        var second = SpawnerAttention()
        #expect(looks(&second, unread: 0, orders: true) == SpawnerAttention.patience)
    }

    @Test func `a spawner that reads or writes is not silent`() {
        var attention = SpawnerAttention()
        for unread in (1...100).reversed() {
            #expect(attention.judge(unreadByteCount: unread, hasOpenOrders: true) == .mayStill)
        }
        for _ in 0..<100 {
            attention.heard()
            #expect(attention.judge(unreadByteCount: 9, hasOpenOrders: true) == .mayStill)
        }
        #expect(looks(&attention, unread: 9, orders: true) == SpawnerAttention.patience)
    }
}
