import Testing

@testable import GreenroomLifecycle

/// What the daemon checks while it runs. A fault of the core ends it before anything is saved or
/// done.
@Suite struct `A core that would break an invariant traps` {
    @Test func `at an instance during a shutdown`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.isShuttingDown = true
            create(in: &core, .launching)
        }
    }

    @Test func `at an instance beyond the limit`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.policy.instanceLimit = 1
            create(in: &core, .launching)
        }
    }

    @Test func `at a prewarm under pressure`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.pressure = .warning
            create(in: &core, .prewarming)
        }
    }

    @Test func `but not at a launch under pressure`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            var core = core(in: .active)
            core.pressure = .critical
            create(in: &core, .launching)
        }
    }

    @Test func `at a record of too many scenes`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            let scene = SceneRecord(scene: .application, goal: .foreground)
            core.update(one) {
                $0.conversation = Conversation(
                    scenes: Array(repeating: scene, count: Conversation.sceneLimit + 1))
            }
            _ = core.takeEffects()
        }
    }

    @Test func `at a record of a step in a suspended app`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .suspended)
            core.update(one) { $0.conversation = inTheMiddleOfAStep }
            _ = core.takeEffects()
        }
    }

    @Test func `at a record of a freeze whose answer nobody awaits`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .background)
            core.move(one, to: .suspended, deadline: nil)
            _ = core.takeEffects()
        }
    }

    @Test func `at a record of an arriving app that acknowledges nothing`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .launching)
            core.update(one) { $0.course = $0.course.running(.arriving) }
            _ = core.takeEffects()
        }
    }

    /// One bad record must not end each supervisor that reads it.
    @Test func `but not at such a record of a former supervisor`() {
        var record = core(in: .suspended).instance(one)!
        record.conversation = inTheMiddleOfAStep
        var core = Lifecycle(
            restoring: [record], apps: [AppRecord(app: Stage.app)],
            nextInstance: InstanceIdentifier(2), policy: Policy(), seed: 1,
            at: Instant(nanoseconds: 0))
        _ = core.handle(.appInstalled(.application()), at: Instant(nanoseconds: 0))
        _ = core.handle(.restored, at: Instant(nanoseconds: 0))
        #expect(core.instance(one)?.state == .suspended)
    }

    @Test func `at GO for an instance that is not told to go`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .prewarmed)
            core.effects = [.go(one, .daemon, LaunchTerms())]
            _ = core.takeEffects()
        }
    }

    @Test func `at the kill of an instance that goes on`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.effects = [.kill(one)]
            _ = core.takeEffects()
        }
    }

    @Test func `at the release of an instance that goes on`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.effects = [.release(one, Stage.app)]
            _ = core.takeEffects()
        }
    }

    @Test func `at more ends than are remembered`() async {
        await #expect(processExitsWith: .failure) {
            var core = core(in: .active)
            core.isRestoring = false
            core.policy.rememberedExits = 1
            for number in 2...3 { core.ended.append(InstanceIdentifier(UInt64(number)), of: 0) }
            core.checkEvent(.triggersForgiven)
        }
    }

    @Test func `at blocked launches of an app that has none`() async {
        await #expect(processExitsWith: .failure) {
            _ = core(in: .active)[blocked: Stage.app]
        }
    }
}

private let one = InstanceIdentifier(1)
private let inTheMiddleOfAStep = Conversation(
    scenes: [
        SceneRecord(
            scene: .application, activation: .background, isConnected: true, goal: .background)
    ],
    pending: PendingStep(
        step: .didEnterBackground, scene: .application, cookie: 1,
        deadline: Instant(nanoseconds: 1)))

/// A core that has been restored with one instance.
private func core(in state: ExecutionState) -> Lifecycle {
    var core = `Every transition`().core(in: state)
    core.isRestoring = false
    return core
}

private func create(in core: inout Lifecycle, _ state: ExecutionState) {
    _ = core.create(
        Stage.app, key: Stage.key, state: state, deadline: Instant(nanoseconds: 1)
    ) { _ in }
}
