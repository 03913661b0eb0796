import GreenroomLifecycle
@testable import GreenroomSupervisor
import Testing

@Suite struct `Open requests of apps` {
    private let one = InstanceIdentifier(1)
    private let other = InstanceIdentifier(2)

    private func full() -> OpenRequests {
        var requests = OpenRequests()
        for number in 0..<OpenRequests.limit {
            requests.add(
                RequestIdentifier(UInt64(number)), .init(instance: one, cookie: UInt64(number)))
        }
        requests.add(RequestIdentifier(99), .init(instance: other, cookie: nil))
        return requests
    }

    @Test func `are so many of one instance, until one is answered`() {
        var requests = full()
        #expect(requests.isFull(of: one) && !requests.isFull(of: other))
        #expect(requests.take(RequestIdentifier(3))?.cookie == 3)
        #expect(requests.take(RequestIdentifier(3)) == nil)
        #expect(!requests.isFull(of: one))
    }

    @Test func `go with their instance, whenever the core answers`() {
        var requests = full()
        requests.forget(one)
        #expect(requests.count == 1 && !requests.isFull(of: one))
        #expect(requests.take(RequestIdentifier(3)) == nil)
        #expect(requests.take(RequestIdentifier(99)) == .init(instance: other, cookie: nil))
        #expect(requests.count == 0)
    }
}
