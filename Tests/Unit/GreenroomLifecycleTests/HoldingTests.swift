import GreenroomLifecycle
import GreenroomPolicy
import Testing

/// For whom programs are held at their first windows, and in how much memory.
@Suite struct `Programs are held at their windows` {
    let first = InstanceIdentifier(1)
    let second = InstanceIdentifier(2)
    let third = InstanceIdentifier(3)
    let other = AppIdentifier("org.example.other")

    private static func app(
        _ identifier: AppIdentifier = Stage.app, of user: String = "user-1",
        change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .prewarmed(identifier) {
            $0.depth = .window
            $0.isSingleInstance = false
            $0.foregroundGroup = nil
            $0.userLoginGroup = user
            change(&$0)
        }
    }

    /// A user in front of a display, and a program that is held for that user.
    private func held(
        _ policy: Policy = Policy(), _ others: AppDescription...,
        change: (inout AppDescription) -> Void = { _ in }
    ) -> Stage {
        var stage = Stage(policy: policy)
        stage.send(.sessionsActive(foregroundGroups: ["user-1"]))
        for user in ["user-1", "user-2"] { stage.send(.loggedIn(foregroundGroup: user)) }
        stage.send(.appInstalled(Self.app(change: change)))
        stage.send(.paused(first, byteCount: 100 << 20, hasOtherThreads: true))
        stage.send(.frozen(first))
        for other in others { stage.send(.appInstalled(other)) }
        return stage
    }

    private func look(at users: Set<String>, _ stage: inout Stage) {
        stage.send(.sessionsActive(foregroundGroups: users))
    }

    @Test func `within a budget of their own`() {
        var policy = Policy()
        policy.prewarmByteBudget = 0
        policy.windowByteBudget = 150 << 20
        var stage = held(policy, Self.app(other))
        #expect(stage.core.heldBytes == 100 << 20)
        #expect(stage.core.prewarmedBytes == 0)
        #expect(stage.core.instances(of: other).isEmpty)
        #expect(stage.core.reasonNotHeld(of: Stage.app) == nil)
        #expect(stage.core.reasonNotHeld(of: other) == .isOverBudget)

        policy.prewarmByteBudget = 1 << 30
        stage.send(.policyChanged(policy))
        #expect(stage.core.instances(of: other).map(\.depth) == [.main])
        // The budget has room for both.
        policy.windowByteBudget = 200 << 20
        stage.send(.policyChanged(policy))
        stage.send(.paused(second, byteCount: 1))
        stage.launch(other)
        stage.send(.started(second))
        #expect(stage.core.instance(third)?.depth == .window)
    }

    @Test func `not at all with a budget of 0`() {
        var policy = Policy()
        var stage = held(policy)
        policy.windowByteBudget = 0
        stage.send(.policyChanged(policy))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(second)?.depth == .main)
        #expect(stage.core.reasonNotHeld(of: Stage.app) == .isOff)
        policy.windowByteBudget = 512 << 20
        stage.send(.policyChanged(policy))
        #expect(stage.core.instance(second)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(third)?.depth == .window)
    }

    @Test func `not without a session, whatever the occasion`() {
        var stage = Stage()
        stage.send(.sessionsActive(foregroundGroups: []))
        stage.send(.appInstalled(Self.app()))
        #expect(stage.core.instance(first)?.depth == .main)
        #expect(stage.core.reasonNotHeld(of: Stage.app) == .isInactive)
        stage.send(.paused(first, byteCount: 1))
        // The paused instance is replaced at the login.
        look(at: ["user-1"], &stage)
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(second)?.depth == .window)
        #expect(stage.core.reasonNotHeld(of: Stage.app) == nil)
    }

    @Test func `for everybody while nobody follows sessions`() {
        let stage = Stage(Self.app())
        #expect(stage.core.instance(first)?.depth == .window)
    }

    @Test func `for everybody if the configuration says so`() {
        var policy = Policy()
        var stage = Stage(policy: policy)
        stage.send(.sessionsActive(foregroundGroups: []))
        stage.send(.appInstalled(Self.app()))
        stage.send(.paused(first, byteCount: 1))
        policy.windowNeedsSession = false
        stage.send(.policyChanged(policy))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(second)?.depth == .window)
    }

    @Test func `during a short look at another session, and no longer`() {
        var stage = held()
        look(at: ["user-2"], &stage)
        stage.wait(.seconds(150))
        #expect(stage.core.instance(first)?.state == .prewarmed)
        look(at: ["user-1"], &stage)
        stage.wait(.seconds(20))
        #expect(stage.core.instance(first)?.state == .prewarmed)
        #expect(stage.core.instances.count == 1)

        look(at: ["user-2"], &stage)
        stage.wait(.seconds(301))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(second)?.depth == .main)
    }

    @Test func `and while the session is inactive, none is made anew`() {
        var stage = held()
        look(at: [], &stage)
        stage.launch()
        #expect(stage.core.instance(first)?.phase == .toldToGo)
        stage.send(.started(first))
        #expect(stage.core.instance(second)?.depth == .main)
    }

    @Test func `and make place for those of the user who is there`() {
        var policy = Policy()
        policy.windowByteBudget = 120 << 20
        var stage = held(policy, Self.app(other, of: "user-2"))
        #expect(stage.core.instance(second)?.depth == .main)
        stage.send(.paused(second, byteCount: 1))
        look(at: ["user-2"], &stage)
        #expect(stage.core.instance(second)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        let held = stage.core.instances.filter { $0.state == .prewarming && $0.depth == .window }
        #expect(held.map(\.app) == [other])
    }

    @Test func `until the logout, at which the display is gone`() {
        var stage = held()
        look(at: [], &stage)
        stage.send(.loggedOut(foregroundGroup: "user-1"))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        #expect(stage.core.instance(second)?.depth == .main)
    }

    @Test func `and after a restart of the supervisor as before`() {
        for isLoggedIn in [true, false] {
            var stage = held()
            stage.core = Lifecycle(
                restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
                nextInstance: stage.core.nextInstance, policy: Policy(), seed: 2, at: stage.now)
            stage.send(.appInstalled(Self.app()))
            stage.send(.sessionsActive(foregroundGroups: []))
            if isLoggedIn { stage.send(.loggedIn(foregroundGroup: "user-1")) }
            stage.send(.restored)
            stage.wait(.seconds(290))
            #expect((stage.core.instance(first)?.state == .prewarmed) == isLoggedIn)
            stage.wait(.seconds(11))
            #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        }
    }

    @Test func `and serve no launch that brings what they have read`() {
        var stage = held()
        look(at: [], &stage)
        var launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("1"), environmentKey: Stage.key)
        launch.reasonNotToHold = .arguments
        stage.send(.requested(stage.request(), .launch(launch)))
        #expect(stage.core.instance(first)?.state == .prewarmed)
        #expect(stage.core.instance(second)?.coldReason == .arguments)
        stage.send(.spawned(second))

        // An instance that is not held serves the launch.
        stage.send(.loggedOut(foregroundGroup: "user-1"))
        stage.send(.paused(third, byteCount: 1))
        launch.launchIdentifier = LaunchIdentifier("2")
        stage.send(.requested(stage.request(), .launch(launch)))
        #expect(stage.core.instance(third)?.phase == .toldToGo)
    }

    @Test func `are not compared with a launch while none is held`() {
        var stage = Stage(Self.app())
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        var launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("1"), environmentKey: Stage.key)
        launch.reasonNotToHold = .callerState
        let id = stage.core.nextInstance
        stage.send(.requested(stage.request(), .launch(launch)))
        #expect(stage.core.instance(id)?.launchKind == .cold)
        #expect(stage.core.instance(id)?.coldReason != .callerState)
    }

    @Test func `although prewarms that were not held have failed`() {
        var stage = held(change: { $0.environmentKey = Stage.key })
        look(at: [], &stage)
        stage.send(.loggedOut(foregroundGroup: "user-1"))
        stage.send(.paused(second, byteCount: 1))
        let lesson = LibraryLesson(
            app: Stage.app, generation: Self.app().generation, environmentKey: Stage.key)
        stage.send(.librariesLearned(lesson, count: 1, isComplete: true))
        #expect(stage.core.instance(third)?.depth == .libraries)
        stage.send(.misfired(third, .startsPrograms("/bin/sh")))
        #expect(stage.core.demotion(of: Stage.app)?.sparesWindow == true)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        look(at: [], &stage)
        look(at: ["user-1"], &stage)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .window)
        let held = stage.core.nextInstance.rawValue - 1
        stage.send(.misfired(InstanceIdentifier(held), .ownsName))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .ownsName)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .libraries)
    }
}
