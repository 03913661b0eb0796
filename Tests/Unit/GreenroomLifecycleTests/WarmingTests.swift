import GreenroomLifecycle
import Testing

@Suite struct `Prewarming` {
    func policy(_ change: (inout Policy) -> Void = { _ in }) -> Policy {
        var policy = Policy()
        policy.inspectsConditions = true
        change(&policy)
        return policy
    }

    @Test func `begins only after an inspection of the machine`() {
        var stage = Stage(policy: policy(), .prewarmed())
        #expect(stage.effects.contains(.inspectConditions))
        #expect(stage.prewarms.isEmpty)
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 1)
    }

    /// Otherwise, each installed app would cause another decision about all earlier ones.
    @Test func `is decided once after a restart, when all existing instances are known`() {
        let names = ["org.example.a", "org.example.b", "org.example.c"].map { AppIdentifier($0) }
        var stage = Stage(policy: Policy())
        for name in names { stage.send(.appInstalled(.prewarmed(name))) }
        let paused = stage.core.instances.map(\.instance)
        stage.send(.paused(paused[0], byteCount: 1))
        var next = Stage(policy: Policy())
        next.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: Policy(), seed: 2, at: stage.now)
        for name in names {
            next.send(.appInstalled(.prewarmed(name)))
            #expect(next.prewarms.isEmpty)
        }
        for id in paused.dropFirst() {
            next.send(.exited(id, .unknown))
            next.send(.emptied(id))
            #expect(next.prewarms.isEmpty)
        }
        next.send(.restored)
        // The failures above delay the prewarms of their apps.
        next.wait(.seconds(2))
        #expect(next.core.instances.count { $0.state == .prewarming } == 2)
        #expect(next.state(paused[0]) == .prewarmed)
    }

    @Test func `inspects nothing while nothing is to be prewarmed`() {
        var stage = Stage(policy: policy(), .prewarmed())
        stage.send(.conditionsInspected(nil))
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        #expect(!stage.wait(.seconds(300)).contains(.inspectConditions))
    }

    @Test func `inspects the machine less and less often while something holds it back`() {
        var stage = Stage(policy: policy(), .prewarmed())
        var pauses: [Duration] = []
        for _ in 0..<8 {
            stage.send(.conditionsInspected(.lowBattery))
            #expect(stage.prewarms.isEmpty)
            let start = stage.now
            while !stage.effects.contains(.inspectConditions) { stage.wait(.seconds(1)) }
            pauses.append(start.duration(to: stage.now))
        }
        #expect(pauses[0] <= .seconds(12))
        #expect(pauses[1] > pauses[0])
        #expect(pauses.allSatisfy { $0 <= .seconds(332) })
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 1)
    }

    @Test(arguments: PrewarmObstacle.allCases)
    func `for a client is refused only when memory is low`(_ obstacle: PrewarmObstacle) {
        var stage = Stage(policy: policy(), .prewarmed())
        stage.send(.conditionsInspected(obstacle))
        stage.wait(.seconds(6))
        let request = stage.request()
        let effects = stage.send(.requested(request, .prewarm(Stage.app, Stage.key)))
        #expect(effects.contains(.inspectConditions), "what is known is too old")
        let refusal = Effect.answer(request, .refused(.obstructed(Stage.app, obstacle)))
        let isRefused = stage.send(.conditionsInspected(obstacle)).contains(refusal)
        #expect(isRefused == (obstacle == .lowMemory))
        #expect(stage.prewarms.isEmpty == isRefused)
    }

    @Test func `begins only after the start delay`() {
        var stage = Stage(
            policy: policy { $0.prewarmStartDelay = .seconds(60) }, .prewarmed())
        #expect(!stage.effects.contains(.inspectConditions))
        #expect(!stage.wait(.seconds(58)).contains(.inspectConditions))
        #expect(stage.wait(.seconds(2)).contains(.inspectConditions))
    }

    @Test func `follows a hint, and the instance expires with the hint`() {
        var description = AppDescription.prewarmed()
        description.prewarmOccasion = .demand
        var stage = Stage(policy: policy(), description)
        let request = stage.request()
        #expect(
            stage.send(.requested(request, .prepare(Stage.app))).contains(
                .answer(request, .prepared(Stage.app, isReady: false))))
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 1)
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        let again = stage.request()
        #expect(
            stage.send(.requested(again, .prepare(Stage.app))).contains(
                .answer(again, .prepared(Stage.app, isReady: true))))
        stage.wait(.seconds(40))
        #expect(stage.core.instance(InstanceIdentifier(1))?.endReason == .prewarmExpired)
        stage.send(.exited(InstanceIdentifier(1), .signaled(9, coreDumped: false)))
        stage.send(.emptied(InstanceIdentifier(1)))
        #expect(!stage.wait(.seconds(300)).contains(.inspectConditions))
    }
}

@Suite struct `Reported pressure` {
    func levels(_ effects: [Effect]) -> [MemoryPressure] {
        effects.compactMap {
            if case .report(.pressureChanged(let level)) = $0 { level } else { nil }
        }
    }

    @Test func `falls level by level, each after a quiet time`() {
        var stage = Stage(.plain())
        #expect(levels(stage.send(.stallReported(.critical))) == [.critical])
        #expect(levels(stage.wait(.seconds(9))).isEmpty)
        #expect(levels(stage.wait(.seconds(2))) == [.warning])
        #expect(levels(stage.wait(.seconds(8))).isEmpty)
        #expect(levels(stage.send(.stallReported(.warning))).isEmpty)
        #expect(levels(stage.wait(.seconds(9))).isEmpty, "reported again")
        #expect(levels(stage.wait(.seconds(2))) == [.none])
        #expect(stage.core.nextDeadline == nil)
    }

    @Test func `ends one instance for each report, at most one in an interval`() {
        var stage = Stage(.plain())
        let ids = [stage.run(), stage.run(), stage.run()]
        for id in ids {
            stage.ask(.suspend, id)
            stage.send(.frozen(id))
        }
        func ended() -> Int { ids.count { stage.state($0) == .terminating } }
        stage.send(.stallReported(.warning))
        #expect(ended() == 1)
        stage.send(.stallReported(.warning))
        #expect(ended() == 1, "too early")
        stage.wait(.seconds(2))
        #expect(ended() == 2)
        stage.wait(.seconds(60))
        #expect(ended() == 2, "nobody complained any more")
    }
}

@Suite struct `A file lock` {
    func stage() -> (Stage, InstanceIdentifier) {
        var policy = Policy()
        policy.inspectsFileLocks = true
        var app = AppDescription.plain()
        app.suspendsInBackground = true
        var stage = Stage(policy: policy, app)
        let id = stage.run(inBackground: true)
        return (stage, id)
    }

    @Test func `ends an app that keeps it beyond the grace when it is to be suspended`() {
        var (stage, id) = stage()
        #expect(stage.wait(.seconds(10)).contains(.inspectFileLocks(id)))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        #expect(stage.state(id) == .background)
        #expect(stage.wait(.seconds(6)).contains(.inspectFileLocks(id)))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        #expect(stage.core.instance(id)?.endReason == .suspendedWithLockedFile)
    }

    @Test func `does no harm to an app that releases it in time`() {
        var (stage, id) = stage()
        stage.wait(.seconds(10))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        stage.wait(.seconds(6))
        #expect(stage.send(.fileLocksInspected(id, holdsLock: false)).contains(.freeze(id)))
    }

    @Test func `has a new grace after each stay in the foreground`() {
        var (stage, id) = stage()
        func move(_ transition: Transition) {
            stage.send(.requested(stage.request(), .transition(.instance(id), transition)))
        }
        stage.wait(.seconds(10))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        move(.foreground)
        stage.wait(.seconds(60))
        move(.background)
        #expect(stage.wait(.seconds(10)).contains(.inspectFileLocks(id)))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        #expect(stage.state(id) == .background, "the grace of an earlier stay counts")
        stage.wait(.seconds(6))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        #expect(stage.core.instance(id)?.endReason == .suspendedWithLockedFile)
    }

    @Test func `that was looked for before the app was in front does not count`() {
        var (stage, id) = stage()
        #expect(stage.wait(.seconds(10)).contains(.inspectFileLocks(id)))
        for transition in [Transition.foreground, .background] {
            stage.send(.requested(stage.request(), .transition(.instance(id), transition)))
        }
        #expect(stage.send(.fileLocksInspected(id, holdsLock: false)).isEmpty)
        #expect(stage.state(id) == .background, "its background time has begun anew")
    }

    @Test func `is looked for before an app with connections is suspended by request`() {
        var policy = Policy()
        policy.inspectsFileLocks = true
        var app = AppDescription.plain()
        app.suspendsInBackground = true
        app.hasSockets = true
        var stage = Stage(policy: policy, app)
        let id = stage.run(inBackground: true)
        stage.wait(.seconds(10))
        #expect(
            stage.send(.fileLocksInspected(id, holdsLock: false)).contains(.inspectConnections(id)))
        stage.send(.requested(stage.request(), .transition(.instance(id), .suspend)))
        stage.send(.connectionsInspected(id, isInUse: false))
        #expect(stage.state(id) == .background, "it may hold a file lock")
        #expect(stage.send(.fileLocksInspected(id, holdsLock: false)).contains(.freeze(id)))
    }

    @Test func `makes a client's request to suspend fail, and the app goes on`() {
        var (stage, id) = stage()
        let request = stage.request()
        #expect(
            stage.send(.requested(request, .transition(.instance(id), .suspend)))
                .contains(.inspectFileLocks(id)))
        #expect(
            stage.send(.fileLocksInspected(id, holdsLock: true))
                .contains(.answer(request, .refused(.holdsFileLock(id)))))
        #expect(stage.state(id) == .background)
    }

    @Test func `does not end the app when the client that asked has left`() {
        var (stage, id) = stage()
        let request = stage.request()
        stage.send(.requested(request, .transition(.instance(id), .suspend)))
        stage.send(.requestAbandoned(request))
        stage.send(.fileLocksInspected(id, holdsLock: true))
        #expect(!stage.wait(.seconds(6)).contains(.inspectFileLocks(id)), "its time is not over")
        #expect(stage.state(id) == .background)
    }
}

@Suite struct `A changed policy` {
    @Test func `causes a new inspection of the machine at once`() {
        var policy = Policy()
        policy.inspectsConditions = true
        var stage = Stage(policy: policy, .prewarmed())
        stage.send(.conditionsInspected(.highLoad))
        #expect(stage.send(.policyChanged(policy)).contains(.inspectConditions))
        stage.send(.conditionsInspected(nil))
        #expect(stage.prewarms.count == 1)
    }
}
