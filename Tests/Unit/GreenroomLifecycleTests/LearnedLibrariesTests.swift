import GreenroomLifecycle
import Testing

/// Libraries that an app opens after main, which later prewarms open before their pause.
@Suite struct `Libraries that are opened after main` {
    let first = InstanceIdentifier(1)
    private static let lesson = LibraryLesson(
        app: Stage.app, generation: 1, environmentKey: Stage.key)

    private static func app(
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .prewarmed {
            $0.depth = .libraries
            $0.isSingleInstance = false
            change(&$0)
        }
    }

    private func fault(_ stage: Stage) -> DepthFault? {
        stage.core.demotion(of: Stage.app)?.fault
    }

    private func latest(_ stage: Stage) -> InstanceIdentifier? {
        stage.core.instances(of: Stage.app).filter(\.state.isPrewarm).map(\.instance).max()
    }

    /// Pauses the latest prewarm and launches it.
    @discardableResult
    private func launch(_ stage: inout Stage) throws -> InstanceIdentifier {
        let id = try #require(latest(stage))
        stage.send(.paused(id, byteCount: 1))
        stage.launch()
        stage.send(.started(id))
        return id
    }

    @Test func `are learned from a launch of the pool, and opened from then on`() throws {
        var stage = Stage(Self.app())
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
        let id = try launch(&stage)
        #expect(stage.has(.learnLibraries(id, Self.lesson)))
        let plain = try #require(latest(stage))
        stage.send(.paused(plain, byteCount: 1))
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        #expect(stage.has(.report(.librariesLearned(Stage.app, count: 3))))
        // The instance that is paused without the libraries makes room.
        #expect(stage.core.instance(plain)?.endReason == .poolTrimmed)
        let deep = try #require(latest(stage))
        #expect(deep != plain)
        #expect(stage.core.instance(deep)?.depth == .libraries)
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 3)
        // A lesson that is complete is not repeated.
        let next = try launch(&stage)
        #expect(!stage.has(.learnLibraries(next, Self.lesson)))
    }

    /// A prewarm under way that opens three libraries, and has got to the second one.
    private func opening() throws -> (Stage, InstanceIdentifier) {
        var stage = Stage(Self.app())
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        let deep = try #require(latest(stage))
        stage.send(.spawned(deep))
        for index in 0...1 { stage.send(.opening(deep, index)) }
        return (stage, deep)
    }

    @Test func `are opened without the one at which a prewarm failed`() throws {
        let faults: [(Event, DepthFault)] = [
            (.exited(InstanceIdentifier(3), .exited(3)), .ended),
            (.misfired(InstanceIdentifier(3), .startsPrograms(nil)), .startsPrograms),
            (.paused(InstanceIdentifier(3), byteCount: 1, hasOtherThreads: true), .startsThreads),
            (.misfired(InstanceIdentifier(3), .changesProcess), .changesProcess),
        ]
        for (event, fault) in faults {
            var (stage, deep) = try opening()
            try #require(deep == InstanceIdentifier(3))
            stage.send(event)
            #expect(stage.has(.report(.libraryDropped(deep, Self.lesson, index: 1, fault))))
            #expect(self.fault(stage) == nil)
            let next = try #require(latest(stage))
            #expect(stage.core.instance(next)?.depth == .libraries)
            #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 2)
        }
    }

    @Test func `are opened without one of them, in whichever order its failure is reported`() throws
    {
        var (stage, deep) = try opening()
        stage.send(.channelLost(deep))
        stage.send(.misfired(deep, .startsPrograms("/bin/sh")))
        stage.die(deep, .signaled(9, coreDumped: false))
        #expect(fault(stage) == nil)
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 2)
    }

    @Test func `are all to blame if no single one is`() throws {
        var (stage, deep) = try opening()
        stage.send(.opening(deep, nil))
        stage.send(.misfired(deep, .changesProcess))
        #expect(fault(stage) == .changesProcess)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
    }

    @Test func `are opened without those that cannot be opened, from the next pause on`() throws {
        var (stage, deep) = try opening()
        for index in 0...1 { stage.send(.openingFailed(deep, index)) }
        stage.send(.opening(deep, nil))
        stage.send(.paused(deep, byteCount: 1))
        let dropped = stage.effects.compactMap { effect -> Int? in
            guard case .report(.libraryDropped(_, _, let index, .cannotBeOpened)) = effect else {
                return nil
            }
            return index
        }
        #expect(dropped == [1, 0])
        #expect(stage.state(deep) == .prewarmed)
    }

    /// A prewarm under way that a launch has claimed, and another one with the same list.
    private func openingTwice() throws -> (
        Stage, claimed: InstanceIdentifier, other: InstanceIdentifier
    ) {
        var stage = Stage(Self.app { $0.prewarmCount = 2 })
        stage.wait(.milliseconds(100))
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        let filling = stage.core.instances(of: Stage.app).filter {
            $0.state == .prewarming && $0.depth == .libraries
        }.map(\.instance).sorted()
        try #require(filling.count == 2)
        for id in filling { stage.send(.spawned(id)) }
        stage.wait(.milliseconds(50))
        stage.launch()
        let claimed = try #require(
            filling.first { stage.has(.applyPriority($0, .foreground)) })
        let other = try #require(filling.first { $0 != claimed })
        return (stage, claimed, other)
    }

    @Test func `are not told by the numbers of a list that has changed`() throws {
        var (stage, claimed, other) = try openingTwice()
        stage.send(.opening(claimed, 2))
        stage.send(.openingFailed(claimed, 0))
        stage.send(.opening(other, 1))
        stage.die(other)
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 2)
        stage.send(.opening(claimed, 2))
        stage.send(.paused(claimed, byteCount: 1))
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 2)
        (stage, claimed, other) = try openingTwice()
        stage.send(.opening(claimed, 2))
        stage.send(.opening(other, 1))
        stage.die(other)
        stage.die(claimed)
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 2)
        #expect(fault(stage) == nil)
    }

    @Test func `are told by the numbers of the new list if the prewarm is ordered again`() throws {
        var (stage, deep) = try opening()
        stage.send(.openingFailed(deep, 0))
        stage.send(.reconciled(deep, found: .nothing))
        stage.send(.paused(deep, byteCount: 1))
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 3)
    }

    @Test func `are given up when the faults have no end`() throws {
        var stage = Stage(Self.app())
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 100, isComplete: true))
        for number in 1...9 {
            #expect(fault(stage) == nil, "\(number)")
            let deep = try #require(latest(stage))
            stage.send(.opening(deep, 0))
            stage.send(.misfired(deep, .startsPrograms(nil)))
            stage.die(deep, .signaled(9, coreDumped: false))
        }
        #expect(fault(stage) == .startsPrograms)
    }

    @Test func `are given up when the faults have no end, also after a restart`() throws {
        var stage = Stage(Self.app())
        stage.send(
            .librariesRecalled(
                Self.lesson, count: 3, dropCount: Lifecycle.dropLimit, isComplete: false))
        try launch(&stage)
        let deep = try #require(latest(stage))
        try #require(stage.core.instance(deep)?.depth == .libraries)
        stage.send(.opening(deep, 0))
        stage.die(deep)
        #expect(fault(stage) == .ended)
    }

    @Test func `are looked for at three launches, if each ends too soon`() throws {
        var stage = Stage(Self.app())
        for number in 1...4 {
            let id = try launch(&stage)
            #expect(stage.has(.learnLibraries(id, Self.lesson)) == (number < 4))
            let former = latest(stage)
            stage.send(.librariesLearned(Self.lesson, count: 2, isComplete: false))
            // Only a new lesson makes the pool anew.
            #expect((latest(stage) != former) == (number == 1))
        }
    }

    @Test func `are not looked for where they could not be opened`() throws {
        for app in [Self.app { $0.depth = .main }, Self.app { $0.depth = .runtime }] {
            var stage = Stage(app)
            let id = try launch(&stage)
            #expect(!stage.has(.learnLibraries(id, Self.lesson)))
        }
        var stage = Stage(Self.app())
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        stage.launch()
        stage.send(.started(first))
        #expect(!stage.has(.learnLibraries(first, Self.lesson)))
    }

    @Test func `belong to one build and one environment`() throws {
        var stage = Stage(Self.app())
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .libraries)
        #expect(stage.core.depth(of: Stage.app, EnvironmentKey(7)) == .main)
        stage.send(.appInstalled(Self.app { $0.generation = 2 }))
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
        // A lesson of the former build comes too late.
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
    }

    @Test func `are remembered for the latest three environments`() {
        var stage = Stage(Self.app())
        let keys = (1...4).map { EnvironmentKey($0) }
        for key in keys {
            let lesson = LibraryLesson(app: Stage.app, generation: 1, environmentKey: key)
            stage.send(.librariesLearned(lesson, count: 1, isComplete: true))
        }
        #expect(keys.map { stage.core.libraryCount(of: Stage.app, $0) } == [0, 1, 1, 1])
    }

    /// What happens to the prewarm that opens the libraries, and the fault that is on record
    /// afterwards.
    private static let failures: [(DepthFault, @Sendable (InstanceIdentifier) -> [Event])] = [
        (.ended, { [.exited($0, .exited(70))] }),
        (.startsPrograms, { [.misfired($0, .startsPrograms("/bin/sh"))] }),
        (.changesProcess, { [.misfired($0, .changesProcess), .channelLost($0)] }),
        (.startsThreads, { [.paused($0, byteCount: 1, hasOtherThreads: true)] }),
    ]

    @Test(arguments: 0..<4)
    func `that end the prewarm are not opened again`(_ index: Int) throws {
        let (fault, events) = Self.failures[index]
        var stage = Stage(Self.app())
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        let deep = try #require(latest(stage))
        for event in events(deep) { stage.send(event) }
        #expect(self.fault(stage) == fault)
        #expect(stage.core.misfire(of: Stage.app) == nil)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
        let plain = try #require(latest(stage))
        #expect(plain != deep && stage.core.instance(plain)?.depth == .main)
        let id = try launch(&stage)
        #expect(!stage.has(.learnLibraries(id, Self.lesson)))
    }

    /// Times from the launch to readiness, from main and then with the libraries open.
    @Test(arguments: [
        (100, [95, 96, 97], true), (100, [99, 98, 97], false), (10, [9, 10, 10], true),
        (1000, [994, 1000, 1000], true), (10, [10, 10, 10], false),
    ])
    func `are opened only as long as that saves a tenth or 5 ms`(
        main: Int, deep: [Int], pays: Bool
    ) throws {
        var stage = Stage(Self.app { $0.readyCondition = .notify })
        var id = try launch(&stage)
        stage.wait(.milliseconds(main))
        stage.send(.becameReady(id))
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        for time in deep {
            #expect(fault(stage) == nil)
            id = try launch(&stage)
            #expect(stage.core.instance(id)?.depth == .libraries)
            stage.wait(.milliseconds(time))
            stage.send(.becameReady(id))
        }
        #expect(fault(stage) == (pays ? nil : .savesNothing))
        let next = try #require(latest(stage))
        #expect(stage.core.instance(next)?.depth == (pays ? .libraries : .main))
    }

    @Test func `outlive a restart of the supervisor`() throws {
        var stage = Stage(Self.app { $0.prewarmCount = 2 })
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        let deep = try #require(latest(stage))
        stage.send(.paused(deep, byteCount: 1))
        stage.restart(Self.app { $0.prewarmCount = 2 })
        stage.send(.librariesRecalled(Self.lesson, count: 3, isComplete: false))
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 3)
        // The paused instance has the libraries open, and stays.
        #expect(stage.core.instance(deep)?.state == .prewarmed)
        // The libraries of another build are not known.
        stage.restart(Self.app { $0.generation = 2 })
        stage.send(.librariesRecalled(Self.lesson, count: 3, isComplete: false))
        #expect(stage.core.libraryCount(of: Stage.app, Stage.key) == 0)
    }

    @Test func `are learned again after a restart of the supervisor that has lost them`() throws {
        var stage = Stage(Self.app())
        try launch(&stage)
        stage.send(.librariesLearned(Self.lesson, count: 3, isComplete: true))
        let deep = try #require(latest(stage))
        stage.send(.paused(deep, byteCount: 1))
        stage.restart(Self.app())
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
        #expect(stage.core.instance(deep)?.state == .prewarmed)
        stage.launch()
        stage.send(.started(deep))
        #expect(stage.has(.learnLibraries(deep, Self.lesson)))
    }
}
