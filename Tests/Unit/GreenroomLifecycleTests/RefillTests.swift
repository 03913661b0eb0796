import GreenroomLifecycle
import Testing

@Suite struct `Refilling` {
    let other = AppIdentifier("org.example.other")
    let third = AppIdentifier("org.example.third")
    let paused = InstanceIdentifier(1)
    let slow = InstanceIdentifier(2)

    /// The paused instance has served a launch, while a cold one is under way.
    private func busy() -> Stage {
        var stage = Stage(.prewarmed(), .plain(other))
        stage.send(.paused(paused, byteCount: 1))
        stage.launch(other)
        stage.launch()
        stage.send(.started(paused))
        return stage
    }

    @Test func `waits while another launch is under way`() {
        var stage = busy()
        stage.die(paused)
        #expect(stage.prewarms.isEmpty, "the other launch is under way")
        stage.send(.spawned(slow))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `goes on after half a second even if a launch is still under way`() {
        var stage = busy()
        stage.wait(.milliseconds(499))
        #expect(stage.prewarms.isEmpty)
        stage.wait(.milliseconds(1))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `goes on when the launch under way has failed`() {
        var stage = busy()
        stage.send(.spawnFailed(slow, SpawnFailure(stage: "executing", errno: 2)))
        #expect(stage.prewarms.count == 1)
    }

    /// Programs that never pause would keep everybody's pools empty.
    @Test func `serves a user of whom nothing is on its way, though others take all slots`() {
        var policy = Policy()
        policy.concurrentPrewarms = 2
        let theirs = (1...4).map { AppIdentifier("org.example.theirs\($0)") }
        var stage = Stage(policy: policy)
        for app in theirs { stage.send(.appInstalled(.prewarmed(app) { $0.user = 1000 })) }
        #expect(stage.core.instances.map(\.app) == Array(theirs.prefix(2)))
        for (app, user) in [(other, 1001), (third, 1001), (Stage.app, 0)] {
            stage.send(.appInstalled(.prewarmed(app) { $0.user = UInt32(user) }))
        }
        #expect(stage.core.instances.map(\.app) == Array(theirs.prefix(2)) + [other, Stage.app])
        // The next slot is free when only one instance is on its way.
        for (index, instance) in stage.core.instances.enumerated() where index != 1 {
            stage.send(.paused(instance.instance, byteCount: 1))
        }
        #expect(stage.core.instances.last?.app == third, "users take turns")
    }

    @Test func `continues with apps that did not fit as soon as there is room`() throws {
        var policy = Policy()
        policy.prewarmByteBudget = 40 << 20
        policy.assumedPrewarmBytes = 30 << 20
        var stage = Stage(policy: policy, .prewarmed(), .prewarmed(other), .prewarmed(third))
        let first = InstanceIdentifier(1)
        #expect(stage.core.instances.count == 1)
        stage.send(.paused(first, byteCount: 20 << 20))
        #expect(stage.prewarms.isEmpty, "20 MiB are left, and 30 are assumed")
        stage.send(.becameStale(first))
        #expect(stage.prewarms.map { stage.core.instance($0)?.app } == [other])
        stage.send(.paused(try #require(stage.prewarms.first), byteCount: 5 << 20))
        #expect(stage.prewarms.map { stage.core.instance($0)?.app } == [third])
    }

    /// The launch and the end of another app change nothing for the pools that wait.
    @Test func `does not inspect the machine again while an inspection is under way`() {
        var policy = Policy()
        policy.inspectsConditions = true
        var stage = Stage(policy: policy, .prewarmed(), .prewarmed(other), .plain(third))
        #expect(!stage.has(.inspectConditions), "the first app has asked for it")
        let running = stage.run(third)
        stage.die(running)
        #expect(!stage.has(.inspectConditions) && stage.prewarms.isEmpty)
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 2)
    }

    @Test func `waits for the start delay, then until the machine allows prewarming`() {
        var policy = Policy()
        policy.inspectsConditions = true
        policy.prewarmStartDelay = .seconds(60)
        var stage = Stage(policy: policy, .prewarmed(), .prewarmed(other))
        stage.wait(.seconds(58))
        #expect(!stage.has(.inspectConditions) && stage.prewarms.isEmpty)
        stage.wait(.seconds(2))
        #expect(stage.has(.inspectConditions))
        stage.send(.conditionsInspected(.lowBattery))
        #expect(stage.prewarms.isEmpty)
        #expect(stage.wait(.seconds(60)).contains(.inspectConditions))
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 2)
    }
}
