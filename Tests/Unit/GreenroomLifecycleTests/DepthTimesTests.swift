import GreenroomLifecycle
import Testing

/// What a depth saves, measured at everyday launches.
@Suite struct `A depth that saves nothing` {
    /// An interpreter's app, which imports a learned list or nothing.
    private static func app(
        list: Bool, generation: UInt64? = nil, basis: UInt64 = 7,
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .prewarmed {
            $0.depth = .runtime
            $0.isSingleInstance = false
            $0.generation = generation ?? (list ? 2 : 1)
            $0.importBasis = basis
            $0.importsLearned = list
            change(&$0)
        }
    }

    private func fault(_ stage: Stage) -> DepthFault? {
        stage.core.demotion(of: Stage.app)?.fault
    }

    /// Pauses the latest prewarm, launches it, and lets it end after a while.
    private func run(
        _ stage: inout Stage, _ milliseconds: Int, work: UInt64 = 1,
        _ status: GreenroomLifecycle.ExitStatus = .exited(0)
    ) throws {
        let id = try #require(
            stage.core.instances(of: Stage.app).filter(\.state.isPrewarm).map(\.instance).max())
        stage.send(.paused(id, byteCount: 1))
        stage.launch(isAttached: true, work: work)
        stage.send(.started(id))
        stage.wait(.milliseconds(milliseconds))
        stage.die(id, status)
    }

    /// Times from the launch to the end, without a list and then with one.
    @Test(arguments: [
        (100, [95, 96, 97], true), (100, [99, 98, 97], false), (10, [9, 10, 10], true),
        (1000, [994, 1000, 1000], true), (10, [10, 10, 10], false), (100, [120, 120, 120], false),
    ])
    func `is found by the ends of a program that counts as ready at once`(
        without: Int, with: [Int], pays: Bool
    ) throws {
        var stage = Stage(Self.app(list: false))
        try run(&stage, without)
        stage.send(.appInstalled(Self.app(list: true)))
        for time in with {
            #expect(fault(stage) == nil)
            try run(&stage, time)
        }
        #expect(fault(stage) == (pays ? nil : .savesNothing))
        // The shell makes the app again without the list, which gives it its depth back.
        stage.send(.appInstalled(Self.app(list: pays)))
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .runtime)
    }

    /// The daemon may be busy, and read that the program began together with its end.
    @Test func `is not found because of a launch whose beginning was heard late`() throws {
        var stage = Stage(Self.app(list: false))
        let id = try #require(stage.core.instances(of: Stage.app).first?.instance)
        stage.send(.paused(id, byteCount: 1))
        stage.launch(isAttached: true, work: 1)
        stage.wait(.milliseconds(99))
        stage.send(.started(id))
        stage.wait(.milliseconds(1))
        stage.die(id, .exited(0))
        #expect(stage.core.depthTimes(of: Stage.app)?.works.first?.shallow == .milliseconds(100))
        stage.send(.appInstalled(Self.app(list: true)))
        for _ in 1...3 { try run(&stage, 80) }
        #expect(fault(stage) == nil)
    }

    @Test func `is found by the readiness of an app that reports it`() throws {
        let change: (inout AppDescription) -> Void = { $0.readyCondition = .notify }
        var stage = Stage(Self.app(list: false, change))
        for list in [false, true, true, true] {
            stage.send(.appInstalled(Self.app(list: list, change)))
            #expect(fault(stage) == nil)
            let id = try #require(
                stage.core.instances(of: Stage.app).filter(\.state.isPrewarm).map(\.instance)
                    .max())
            stage.send(.paused(id, byteCount: 1))
            stage.launch(work: 1)
            stage.send(.started(id))
            stage.wait(.milliseconds(100))
            stage.send(.becameReady(id))
        }
        #expect(fault(stage) == .savesNothing)
    }

    @Test func `is not judged by other work, failures and long runs`() throws {
        var stage = Stage(Self.app(list: false))
        try run(&stage, 100)
        stage.send(.appInstalled(Self.app(list: true)))
        for _ in 1...3 {
            try run(&stage, 100, work: 2)
            try run(&stage, 100, work: 0)
            try run(&stage, 100, .exited(1))
            try run(&stage, 2001)
        }
        #expect(fault(stage) == nil)
        #expect(stage.core.depthTimes(of: Stage.app)?.saved == nil)
    }

    @Test func `is kept for work that it is good for`() throws {
        var stage = Stage(Self.app(list: false))
        for work in [1, 2] as [UInt64] { try run(&stage, 100, work: work) }
        stage.send(.appInstalled(Self.app(list: true)))
        for _ in 1...3 { try run(&stage, 50, work: 1) }
        for _ in 1...3 { try run(&stage, 100, work: 2) }
        #expect(fault(stage) == nil)
        #expect(stage.core.depthTimes(of: Stage.app)?.saved == .milliseconds(25))
    }

    @Test func `is measured anew for another list, and for other files`() throws {
        var stage = Stage(Self.app(list: false))
        try run(&stage, 100)
        stage.send(.appInstalled(Self.app(list: true)))
        for _ in 1...2 { try run(&stage, 100) }
        stage.send(.appInstalled(Self.app(list: true, generation: 3)))
        for _ in 1...2 { try run(&stage, 100) }
        #expect(fault(stage) == nil)
        stage.send(.appInstalled(Self.app(list: true, generation: 4, basis: 8)))
        #expect(stage.core.depthTimes(of: Stage.app) == nil)
        for _ in 1...3 { try run(&stage, 100) }
        #expect(fault(stage) == nil)
    }

    @Test func `is found although the supervisor is restarted in between`() throws {
        var stage = Stage(Self.app(list: false))
        try run(&stage, 100)
        stage.send(.appInstalled(Self.app(list: true)))
        for _ in 1...3 {
            #expect(fault(stage) == nil)
            try run(&stage, 100)
            let times = try #require(stage.core.depthTimes(of: Stage.app))
            stage.restart(Self.app(list: true))
            stage.send(.timesRecalled(Stage.app, times))
        }
        #expect(fault(stage) == .savesNothing)
    }

    @Test func `is compared with cold launches by the list of apps`() throws {
        var stage = Stage(Self.app(list: false))
        #expect(stage.core.savedTime(of: Stage.app) == nil)
        #expect(stage.core.measuredSaving(of: Stage.app) == nil)
        // No prewarm has paused yet, so the launch does not wait for one.
        func runCold(_ milliseconds: Int, work: UInt64 = 1) throws {
            stage.launch(isAttached: true, work: work)
            let id = try #require(stage.core.instances.map(\.instance).max())
            #expect(stage.core.instance(id)?.launchKind == .cold)
            stage.send(.spawned(id))
            stage.wait(.milliseconds(milliseconds))
            stage.die(id)
        }
        try run(&stage, 40)
        // What preparing the latest instance took: nothing, on this stage.
        #expect(stage.core.savedTime(of: Stage.app) == .zero)
        try runCold(120)
        try runCold(100)
        try runCold(1000, work: 2)
        #expect(stage.core.savedTime(of: Stage.app) == .milliseconds(60))
        #expect(stage.core.measuredSaving(of: Stage.app) == .milliseconds(60))
        stage.send(.appInstalled(Self.app(list: true)))
        #expect(stage.core.savedTime(of: Stage.app) == .milliseconds(60))
        try run(&stage, 10)
        #expect(stage.core.savedTime(of: Stage.app) == .milliseconds(90))
        // Without the list, no instance has done this work.
        try run(&stage, 5, work: 2)
        #expect(stage.core.savedTime(of: Stage.app) == .milliseconds(90))
        // Cold launches that take less than those from the pool.
        stage.send(.appInstalled(Self.app(list: true, generation: 9, basis: 8)))
        try run(&stage, 40)
        try runCold(30)
        #expect(stage.core.savedTime(of: Stage.app) == .zero)
        #expect(fault(stage) == nil)
    }
}
