import Glibc
import Testing

@testable import GreenroomSupervisor

@Suite struct `A limit that users share` {
    private let limit = SharedLimit(64)

    /// How many a user gets who takes everything, if other users have this many.
    private func share(_ user: UInt32, others: Int) -> Int {
        var own = 0
        while limit.excess(of: user, own: own, taken: others + own) == nil { own += 1 }
        return own
    }

    @Test func `leaves half of the rest to whoever comes next`() {
        // Root has an eighth, which is 8 of 64.
        let first = share(1000, others: 0)
        let second = share(1001, others: first)
        #expect((first, second) == (28, 14))
        #expect(share(1002, others: 55) == 1)
        #expect(limit.excess(of: 1003, own: 0, taken: 56) == .all(limit: 56))
        #expect(limit.excess(of: 1000, own: 28, taken: 28) == .ofUser(limit: 28))
    }

    @Test func `leaves everything to root and the daemon's own user`() {
        #expect(share(0, others: 0) == 64)
        #expect(share(geteuid(), others: 60) == 4)
    }
}
