import GreenroomAppChannel
@testable import GreenroomSupervisor
import Testing

@Suite struct `Requests of apps after a restart` {
    private func again(_ cookie: UInt64) -> UInt64 { cookie | AppReport.againBit }

    @Test func `a request that the former supervisor had read is lost, one in the channel is not`()
    {
        var requests = RepeatedRequests()
        // The former supervisor had read request 5; 6 and 7 were still in the channel.
        for cookie: UInt64 in [6, 7] {
            #expect(requests.progress(of: cookie, canRepeat: false) == .new)
        }
        #expect(requests.progress(of: again(5), canRepeat: false) == .lost)
        #expect(requests.progress(of: again(6), canRepeat: true) == .underWay)
        #expect(requests.progress(of: again(7), canRepeat: false) == .underWay)
        #expect(requests.progress(of: 8, canRepeat: false) == .new)
    }

    @Test func `a request that may be repeated without harm is performed again, once`() {
        var requests = RepeatedRequests()
        #expect(requests.progress(of: again(3), canRepeat: true) == .new)
        #expect(requests.contains(3) && !requests.contains(4))
        #expect(requests.progress(of: again(3), canRepeat: true) == .underWay)
        #expect(AppReport.SceneRequest.destroy(session: "1").canRepeat)
        #expect(AppReport.SceneRequest.activate(session: "1", AppContent()).canRepeat)
        #expect(!AppReport.SceneRequest.activate(session: nil, AppContent()).canRepeat)
    }

    @Test func `an app that repeats too many requests is refused`() {
        var requests = RepeatedRequests()
        var progresses: [RepeatedRequests.Progress] = []
        for cookie in 1...1000 as ClosedRange<UInt64> {
            progresses.append(requests.progress(of: again(cookie), canRepeat: true))
        }
        #expect(progresses.count { $0 == .new } == 256 && progresses.last == .lost)
    }
}
