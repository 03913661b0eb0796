@testable import ApplicationKit
import Testing

/// Tests that need no process of their own.
@Suite @MainActor struct `The library for apps` {
    @Test func `states have UIKit's raw values`() {
        #expect(
            [Application.State.active, .inactive, .background].map(\.rawValue) == [0, 1, 2])
        #expect(
            [
                Scene.ActivationState.unattached, .foregroundActive, .foregroundInactive,
                .background,
            ].map(\.rawValue) == [-1, 0, 1, 2])
    }

    @Test func `a coder says whether it contains a key`() {
        let coder = StateCoder(appVersion: "1")
        #expect(!coder.containsValue(forKey: "page"))
        coder.encode(7, forKey: "page")
        #expect(coder.containsValue(forKey: "page"))
    }
}
