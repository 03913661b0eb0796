import GreenroomLifecycle
import Testing

/// How far an app is prewarmed, and what ends a depth.
@Suite struct `A prewarm after the interpreter's boot` {
    let first = InstanceIdentifier(1)
    let second = InstanceIdentifier(2)

    private static func deep(
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .prewarmed {
            $0.depth = .runtime
            change(&$0)
        }
    }

    private func demotion(_ stage: Stage) -> DepthRecord.Demotion? {
        stage.core.demotion(of: Stage.app)
    }

    @Test func `is ordered to that depth, which the record keeps`() {
        let stage = Stage(Self.deep())
        #expect(stage.has(.spawn(first, Stage.app, .prewarm(Stage.key, .runtime))))
        #expect(stage.core.instance(first)?.depth == .runtime)
        #expect(Stage(.prewarmed()).has(.spawn(first, Stage.app, .prewarm(Stage.key, .main))))
    }

    /// What happens to the instance, and the fault that is on record after it.
    private static let failures: [(DepthFault, [Event])] = [
        (.ended, [.exited(InstanceIdentifier(1), .exited(70))]),
        (.ended, [.channelLost(InstanceIdentifier(1))]),
        (.pausedElsewhere, [.paused(InstanceIdentifier(1), byteCount: 1, isTooEarly: true)]),
        (.startsPrograms, [.misfired(InstanceIdentifier(1), .startsPrograms("/bin/sh"))]),
        (
            .startsPrograms,
            [
                .channelLost(InstanceIdentifier(1)),
                .misfired(InstanceIdentifier(1), .startsPrograms("/bin/sh")),
            ]
        ),
    ]

    @Test(arguments: 0..<5)
    func `that fails is followed by one to main at once, and by no deeper one`(_ index: Int) {
        let (fault, events) = Self.failures[index]
        var stage = Stage(Self.deep())
        for event in events { stage.send(event) }
        #expect(demotion(stage)?.fault == fault)
        #expect(demotion(stage)?.environmentKey == nil)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
        #expect(stage.core.misfire(of: Stage.app) == nil)
        #expect(stage.core.instance(second)?.depth == .main)
        #expect(stage.core.instance(second)?.state == .prewarming)
        // That one fails as any other does.
        stage.send(.exited(second, .exited(1)))
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
    }

    /// How a prewarm ends that somebody has killed, or that was traced by a spawner that ended.
    private static let foreignEnds: [@Sendable (InstanceIdentifier) -> Event] = [
        { .exited($0, .signaled(9, coreDumped: false)) },
        { .exited($0, .signaled(5, coreDumped: false)) },
        { .exited($0, .unknown) },
        { .reconciled($0, found: .noChannel(hasEnded: false)) },
    ]

    @Test(arguments: foreignEnds.indices, [PrewarmDepth.runtime, .window])
    func `that somebody else ends is tried again after a while`(_ index: Int, depth: PrewarmDepth) {
        var stage = Stage(Self.deep { $0.depth = depth })
        stage.send(Self.foreignEnds[index](first))
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(demotion(stage) == nil)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
        #expect(stage.prewarms == [])
        stage.wait(Policy().backOffFirst)
        #expect(stage.core.instance(second)?.depth == depth)
    }

    /// A program that kills itself must not be prewarmed for ever, but what a spawner's end costs is
    /// never the app's fault.
    @Test(arguments: foreignEnds.indices)
    func `that is killed again and again ends the depth`(_ index: Int) {
        var stage = Stage(Self.deep())
        for number in 1...UInt64(Lifecycle.unorderedKillLimit) {
            #expect(demotion(stage) == nil)
            let id = InstanceIdentifier(number)
            #expect(stage.core.instance(id)?.state == .prewarming)
            stage.send(Self.foreignEnds[index](id))
            stage.die(id, .signaled(9, coreDumped: false))
            stage.wait(Policy().backOffFirst * 4)
        }
        #expect(demotion(stage)?.fault == (index < 2 ? .ended : nil))
    }

    @Test func `that is killed now and then keeps the depth`() throws {
        var stage = Stage(Self.deep())
        for number in 1...UInt64(Lifecycle.unorderedKillLimit + 1) {
            let id = InstanceIdentifier(number)
            try #require(stage.core.instance(id)?.state == .prewarming)
            // One has paused before it is killed.
            if number == Lifecycle.unorderedKillLimit { stage.send(.paused(id, byteCount: 1)) }
            stage.die(id, .signaled(9, coreDumped: false))
            stage.wait(Policy().backOffFirst * 4)
        }
        #expect(demotion(stage) == nil)
    }

    @Test func `that does not pause in time is followed by one to main`() {
        var stage = Stage(Self.deep())
        // So far, it could run only when nobody else wanted to.
        let effects = stage.wait(Policy().pauseDeadline + .seconds(1))
        #expect(effects.contains(.applyPriority(first, .prewarmed)))
        #expect(demotion(stage) == nil)
        #expect(stage.core.instance(first)?.state == .prewarming)
        stage.wait(Policy().pauseDeadline)
        #expect(demotion(stage)?.fault == .timedOut)
        #expect(stage.core.instance(second)?.depth == .main)
    }

    @Test func `that a client waits for ends with its first deadline`() {
        var stage = Stage(Self.deep { $0.prewarmOccasion = .demand })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.wait(Policy().pauseDeadline + .seconds(1))
        #expect(demotion(stage)?.fault == .timedOut)
    }

    @Test func `that a client begins to wait for late has its time once more`() {
        var stage = Stage(Self.deep())
        stage.wait(Policy().pauseDeadline - .seconds(1))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.wait(.seconds(2))
        #expect(demotion(stage) == nil)
        stage.wait(Policy().pauseDeadline)
        #expect(demotion(stage)?.fault == .timedOut)
    }

    @Test func `that is reclaimed, or was paused before it ended, does not end the depth`() {
        var stage = Stage(Self.deep())
        stage.send(.pressureChanged(.warning))
        stage.send(.exited(first, .signaled(9, coreDumped: false)))
        #expect(demotion(stage) == nil)
        var other = Stage(Self.deep())
        other.send(.paused(first, byteCount: 1))
        other.send(.exited(first, .exited(1)))
        #expect(demotion(other) == nil)
        #expect(other.core.app(Stage.app)?.prewarmFailures == 1)
    }

    @Test func `that fails with a caller's environment ends the depth with that one only`() {
        var stage = Stage(Self.deep())
        stage.send(.paused(first, byteCount: 1))
        let (mine, yours) = (EnvironmentKey(7), EnvironmentKey(8))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, mine)))
        stage.send(.exited(second, .exited(70)))
        #expect(demotion(stage)?.environmentKey == mine)
        #expect(stage.core.depth(of: Stage.app, mine) == .main)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .runtime)
        #expect(stage.core.instance(InstanceIdentifier(3))?.depth == .main)
        // With a second environment, the fault is not about a particular environment.
        stage.send(.paused(InstanceIdentifier(3), byteCount: 1))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, yours)))
        stage.send(.exited(InstanceIdentifier(4), .exited(70)))
        #expect(demotion(stage)?.environmentKey == nil)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
    }

    /// A caller's environment may be to blame, so the first failure gives up only that environment.
    /// Nobody has to bear more than two failures, whatever the third environment is.
    @Test(arguments: [Stage.key, EnvironmentKey(8)])
    func `fails twice at most, and then pauses before main in every environment`(
        _ second: EnvironmentKey
    ) {
        var stage = Stage(Self.deep { $0.prewarmOccasion = .demand })
        let callers = EnvironmentKey(7)
        var failures = 0
        for key in [callers, second, EnvironmentKey(9), Stage.key, callers] {
            stage.send(.requested(stage.request(), .prewarm(Stage.app, key)))
            var next = stage.prewarms.last
            while let id = next {
                next = nil
                guard stage.core.instance(id)?.depth == .runtime else {
                    stage.send(.paused(id, byteCount: 1))
                    continue
                }
                failures += 1
                stage.send(.exited(id, .exited(70)))
                next = stage.prewarms.last
            }
        }
        #expect(failures == 2)
        #expect(demotion(stage)?.environmentKey == nil && demotion(stage) != nil)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
    }

    @Test func `is tried again when the app changes, or when a client resets it`() {
        for isReset in [true, false] {
            var stage = Stage(Self.deep())
            stage.send(.exited(first, .exited(70)))
            if isReset {
                stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
            } else {
                stage.send(.appInstalled(Self.deep { $0.generation += 1 }))
            }
            #expect(demotion(stage) == nil)
            #expect(stage.core.depth(of: Stage.app, Stage.key) == .runtime)
        }
    }

    @Test func `stays at main over a restart of the supervisor`() {
        var stage = Stage(Self.deep())
        stage.send(.exited(first, .exited(70)))
        stage.restart(Self.deep())
        #expect(demotion(stage)?.fault == .ended)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
    }

    @Test func `whose launch was started anew says so, and counts it`() throws {
        var stage = Stage(Self.deep())
        stage.send(.paused(first, byteCount: 1))
        stage.launch()
        stage.send(.started(first, anew: .options))
        let record = try #require(stage.core.instance(first))
        #expect(record.launchKind == .startedAnew && record.anewReason == .options)
        guard case .launched(let outcome, _)? = stage.answers.last else {
            Issue.record("no answer")
            return
        }
        #expect(outcome.kind == .startedAnew && outcome.anewReason == .options)
        let depth = try #require(stage.core.app(Stage.app)?.depth)
        #expect(depth.anewCount == 1 && depth.anewStreak == 1 && depth.latestAnew == .options)
    }

    @Test func `ends its depth once three launches in a row were started anew`() throws {
        var stage = Stage(Self.deep { $0.isSingleInstance = false })
        // The second launch goes on without a new start, so the count begins again.
        for (number, reason) in [AnewReason.program, nil, .program, .program, .program].enumerated()
        {
            #expect(demotion(stage) == nil)
            let id = try #require(stage.prewarms.last)
            #expect(stage.core.instance(id)?.depth == .runtime, "launch \(number)")
            stage.send(.paused(id, byteCount: 1))
            stage.launch()
            stage.send(.started(id, anew: reason))
        }
        #expect(demotion(stage)?.fault == .startsAnew)
        #expect(stage.core.app(Stage.app)?.depth.anewCount == 4)
        #expect(stage.core.instance(try #require(stage.prewarms.last))?.depth == .main)
    }
}
