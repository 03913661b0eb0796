@testable import ApplicationKit
import Testing

/// What needs no process of its own.
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

    @Test func `a coder knows what it holds`() {
        let coder = StateCoder(appVersion: "1")
        #expect(!coder.containsValue(forKey: "page"))
        coder.encode(7, forKey: "page")
        #expect(coder.containsValue(forKey: "page"))
    }
}
