import GreenroomAppChannel
@testable import GreenroomSupervisor
import Testing

@Suite struct `Requests of apps after a restart` {
    private func again(_ cookie: UInt64) -> UInt64 { cookie | AppReport.againBit }

    @Test func `a request that the former supervisor had read is lost, one in the channel is not`()
    {
        var requests = RepeatedRequests()
        // 5 had been read; 6 and 7 were in the channel.
        for cookie: UInt64 in [6, 7] {
            #expect(requests.standing(of: cookie, canRepeat: false) == .new)
        }
        #expect(requests.standing(of: again(5), canRepeat: false) == .lost)
        #expect(requests.standing(of: again(6), canRepeat: true) == .underWay)
        #expect(requests.standing(of: again(7), canRepeat: false) == .underWay)
        #expect(requests.standing(of: 8, canRepeat: false) == .new)
    }

    @Test func `a request that may be repeated without harm is performed again, once`() {
        var requests = RepeatedRequests()
        #expect(requests.standing(of: again(3), canRepeat: true) == .new)
        #expect(requests.contains(3) && !requests.contains(4))
        #expect(requests.standing(of: again(3), canRepeat: true) == .underWay)
        #expect(AppReport.SceneRequest.destroy(session: "1").canRepeat)
        #expect(AppReport.SceneRequest.activate(session: "1", AppContent()).canRepeat)
        #expect(!AppReport.SceneRequest.activate(session: nil, AppContent()).canRepeat)
    }

    @Test func `an app that repeats too many requests is refused`() {
        var requests = RepeatedRequests()
        var standings: [RepeatedRequests.Standing] = []
        for cookie in 1...1000 as ClosedRange<UInt64> {
            standings.append(requests.standing(of: again(cookie), canRepeat: true))
        }
        #expect(standings.count { $0 == .new } == 256 && standings.last == .lost)
    }
}
