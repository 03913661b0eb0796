import GreenroomLifecycle
import Testing

/// A paused instance's channel closes as the kernel kills it, and is heard of first.
@Suite struct PausedMemoryEndTests {
    private func reason(isCertain: Bool?) -> ExitReason? {
        let id = InstanceIdentifier(1)
        var stage = Stage(.prewarmed())
        stage.send(.paused(id, byteCount: 1))
        stage.send(.channelLost(id))
        if let isCertain { stage.send(.outOfMemory(id, isCertain: isCertain)) }
        stage.send(.exited(id, .signaled(9, coreDumped: false)))
        return stage.core.instance(id)?.endReason
    }

    @Test func `the kernel's kill is the reason, not the lost channel`() {
        #expect(reason(isCertain: true) == .outOfMemory)
    }

    @Test func `without the kernel's word it is our own kill that ended it`() {
        #expect(reason(isCertain: nil) == .prewarmFailed)
        #expect(reason(isCertain: false) == .prewarmFailed)
    }
}
