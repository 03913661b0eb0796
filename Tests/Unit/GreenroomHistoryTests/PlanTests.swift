import GreenroomControl
import TestSupport
import Testing

@testable import GreenroomHistory

/// Which apps are to be kept warm, by the launches in the table.
@Suite struct `A plan from past launches` {
    private static let now: Int64 = 1_700_000_000_000_000
    private static let mebibyte: UInt64 = 1 << 20

    private static func app(
        _ name: String, of user: UInt32 = 1, mebibytes: UInt64 = 16
    ) -> PlanRequest.App {
        PlanRequest.App(
            app: name, user: user, byteCount: mebibytes * mebibyte, preparationUSec: 100_000,
            isWarm: false)
    }

    /// Launches of an app, one an hour until now.
    private static func launches(
        _ app: String, _ count: Int, of user: UInt32 = 1, by caller: UInt32? = 1
    ) -> [Control.LaunchRecord] {
        (0..<count).reversed().map { hours in
            var launch = Control.LaunchRecord(
                app: app, userId: user, instance: 1, launchIdentifier: "", kind: .cold,
                requestTimestampUSec: now - Int64(hours) * 3_600_000_000)
            launch.caller = caller.map { Control.Caller(userId: $0, processId: 1, program: nil) }
            return launch
        }
    }

    private static func plan(
        _ launches: [[Control.LaunchRecord]], _ apps: [PlanRequest.App], mebibytes: UInt64 = 1024,
        forgetting: String? = nil
    ) throws -> [String] {
        let folder = try TemporaryDirectory()
        let table = try LaunchTable(path: folder.path + "/history.db")
        var batch = HistoryBatch(days: 30, launchesPerUser: 10_000)
        batch.launches = launches.joined().sorted {
            $0.requestTimestampUSec < $1.requestTimestampUSec
        }
        try table.append(batch, now: now)
        if let forgetting { _ = try table.forget(app: forgetting, user: nil) }
        return try table.plan(
            PlanRequest(apps: apps, byteBudget: mebibytes * mebibyte), now: now)
    }

    @Test func `has what was launched, and no other app`() throws {
        let plan = try Self.plan(
            [Self.launches("used", 20)], [Self.app("used"), Self.app("unused")])
        #expect(plan == ["used"])
        #expect(try Self.plan([], [Self.app("used")]).isEmpty)
    }

    @Test func `has what is launched more often where not everything fits`() throws {
        let plan = try Self.plan(
            [Self.launches("often", 40), Self.launches("seldom", 2)],
            [Self.app("often"), Self.app("seldom")], mebibytes: 20)
        #expect(plan == ["often"])
    }

    @Test func `forgets what the history forgets`() throws {
        let plan = try Self.plan(
            [Self.launches("used", 20), Self.launches("secret", 20)],
            [Self.app("used"), Self.app("secret")], forgetting: "secret")
        #expect(plan == ["used"])
    }

    @Test func `learns nothing from launches that others asked for`() throws {
        for caller: UInt32? in [2, nil] {
            let plan = try Self.plan(
                [Self.launches("app", 20, by: caller)], [Self.app("app")])
            #expect(plan.isEmpty)
        }
    }

    @Test func `leaves each user a share, whatever another one launches`() throws {
        let loud = (0..<30).map { "loud\($0)" }
        let plan = try Self.plan(
            loud.map { Self.launches($0, 30) } + [Self.launches("quiet", 3, of: 2, by: 2)],
            loud.map { Self.app($0) } + [Self.app("quiet", of: 2)], mebibytes: 64)
        #expect(plan.contains("quiet") && plan.count > 1)
    }

    // MARK: Explained

    private static func table(
        in folder: TemporaryDirectory, _ launches: [[Control.LaunchRecord]]
    ) throws -> LaunchTable {
        let table = try LaunchTable(path: folder.path + "/history.db")
        var batch = HistoryBatch(days: 30, launchesPerUser: 10_000)
        batch.launches = launches.joined().sorted {
            $0.requestTimestampUSec < $1.requestTimestampUSec
        }
        try table.append(batch, now: now)
        return table
    }

    @Test func `is explained by the terms that its probabilities come from`() throws {
        let folder = try TemporaryDirectory()
        let table = try Self.table(
            in: folder, [Self.launches("often", 40), Self.launches("seldom", 2)])
        let request = PlanRequest(
            apps: [Self.app("often"), Self.app("seldom"), Self.app("never")],
            byteBudget: 20 * Self.mebibyte)
        let report = try table.rank(request, app: nil, user: nil, now: Self.now)
        #expect(report.apps.map(\.app) == ["often", "seldom"])
        #expect(report.apps.map(\.verdict) == [.known(.prepare), .known(.noRoom)])
        #expect(report.byteBudget == request.byteBudget && report.byteCount == 16 << 20)
        #expect(report.apps.map(\.terms.count) == [7, 7])
        for app in report.apps {
            let sum = app.terms.reduce(0) { $0 + $1.probability }
            #expect(abs(sum - app.probability) < 1e-9)
        }
        #expect(try table.plan(request, now: Self.now) == ["often"])
    }

    @Test func `is explained to a user as far as it is about that user's apps`() throws {
        let folder = try TemporaryDirectory()
        let table = try Self.table(
            in: folder, [Self.launches("mine", 3), Self.launches("yours", 3, of: 2, by: 2)])
        let request = PlanRequest(
            apps: [Self.app("mine"), Self.app("yours", of: 2)], byteBudget: 1 << 30)
        let report = try table.rank(request, app: nil, user: 1, now: Self.now)
        #expect(report.apps.map(\.app) == ["mine"] && report.byteCount == 16 << 20)
        #expect(try table.rank(request, app: "yours", user: 1, now: Self.now).apps.isEmpty)
        #expect(try table.rank(request, app: nil, user: nil, now: Self.now).apps.count == 2)
    }

    // MARK: Costs

    private static func pause(
        _ instance: UInt64, of app: String = "used", preparation: Int64?, processor: Int64?,
        _ depth: Control.PrewarmDepth = .main
    ) -> Control.PauseRecord {
        var pause = Control.PauseRecord(
            app: app, userId: 1, instance: instance, pausedTimestampUSec: now,
            untilTimestampUSec: now, byteCount: 1)
        (pause.preparationUSec, pause.processorUSec) = (preparation, processor)
        (pause.kind, pause.depth) = (.known(.prewarmed), .known(depth))
        return pause
    }

    /// The rank of a launched app after these pauses. The daemon itself has measured only the last
    /// prewarm, which took 100 ms.
    private static func rank(
        _ pauses: [Control.PauseRecord], ready: [(Control.LaunchKind, UInt64, Int64)] = [],
        onBattery: Bool = false, _ change: (inout PlanRequest.App) -> Void = { _ in }
    ) throws -> Control.PlannedApp {
        let folder = try TemporaryDirectory()
        let table = try table(
            in: folder,
            [
                launches("used", 20),
                ready.map { kind, instance, time in
                    var launch = launches("used", 1)[0]
                    (launch.kind, launch.instance) = (.known(kind), instance)
                    launch.readyUSec = time
                    return launch
                },
            ])
        var batch = HistoryBatch(days: 30, launchesPerUser: 10_000)
        batch.pauses = pauses
        try table.append(batch, now: now)
        var app = app("used")
        app.depth = .known(.main)
        change(&app)
        let request = PlanRequest(apps: [app], byteBudget: 1 << 30, isOnBattery: onBattery)
        return try #require(
            try table.rank(request, app: nil, user: nil, now: now).apps.first)
    }

    @Test func `counts what preparing takes at its quickest, whoever has measured it`() throws {
        let pauses = [
            Self.pause(10, preparation: 900_000, processor: 20_000),
            Self.pause(11, preparation: 40_000, processor: 30_000),
            Self.pause(12, preparation: nil, processor: nil),
            Self.pause(13, preparation: 5_000, processor: 1_000, .libraries),
        ]
        #expect(try Self.rank(pauses).savedUSec == 40_000)
        #expect(try Self.rank(pauses) { $0.preparationUSec = nil }.savedUSec == 40_000)
        #expect(try Self.rank(pauses) { $0.depth = .known(.libraries) }.savedUSec == 5_000)
        #expect(try Self.rank(pauses) { $0.depth = .known(.window) }.savedUSec == 100_000)
        #expect(try Self.rank([]) { $0.preparationUSec = nil }.savedUSec == 50_000)
    }

    /// An app that no plan has kept for a night counts with what was measured before.
    @Test func `counts what was measured, however much was prepared since`() throws {
        let own = Self.pause(10, preparation: 20_000, processor: 20_000)
        let others = (0..<UInt64(1100)).map {
            Self.pause(100 + $0, of: "other", preparation: 1_000, processor: 1_000)
        }
        #expect(try Self.rank([own] + others).savedUSec == 20_000)
        // Nor does what nobody has launched hide what was launched.
        let unused = (0..<UInt64(1100)).map {
            var pause = Self.pause(2000 + $0, preparation: 30_000, processor: 1_000)
            pause.kind = nil
            return pause
        }
        let rank = try Self.rank(
            [own] + unused, ready: [(.cold, 1, 90_000), (.prewarmed, 10, 25_000)]
        ) { $0.tellsReadiness = true }
        #expect(rank.savedUSec == 65_000)
    }

    @Test func `pays the processor time of preparing, and not the time that it takes`() throws {
        let pauses = [
            Self.pause(10, preparation: 900_000, processor: 20_000),
            Self.pause(11, preparation: 900_000, processor: 30_000),
        ]
        let price =
            try Self.rank(pauses).valueUSec - Self.rank(pauses, onBattery: true).valueUSec
        // The prices differ by 19 µs for a millisecond, and preparing takes 25.
        #expect(474...476 ~= price)
    }

    @Test func `compares launches of an app that says when it is ready`() throws {
        // An instance of another boot, with the same number.
        var former = Self.pause(10, preparation: 40_000, processor: 1, .libraries)
        former.untilTimestampUSec -= 1
        let pauses = [
            former,
            Self.pause(10, preparation: 40_000, processor: 1),
            Self.pause(11, preparation: 40_000, processor: 1, .libraries),
        ]
        let ready: [(Control.LaunchKind, UInt64, Int64)] = [
            (.cold, 1, 900_000), (.cold, 2, 500_000), (.prewarmed, 10, 300_000),
            (.prewarmed, 11, 100_000),
        ]
        func saved(_ change: (inout PlanRequest.App) -> Void) throws -> Int64 {
            try Self.rank(pauses, ready: ready, change).savedUSec
        }
        #expect(try saved { $0.tellsReadiness = true } == 200_000)
        #expect(
            try saved {
                $0.tellsReadiness = true
                $0.depth = .known(.libraries)
            } == 400_000)
        #expect(try saved { _ in } == 40_000)
        // No launch was cold.
        #expect(
            try Self.rank(pauses, ready: [ready[2]]) { $0.tellsReadiness = true }.savedUSec
                == 40_000)
    }

    @Test func `minds the battery and a shortage of memory`() throws {
        let folder = try TemporaryDirectory()
        let table = try Self.table(
            in: folder, [Self.launches("often", 40), Self.launches("seldom", 1)])
        var request = PlanRequest(
            apps: [Self.app("often"), Self.app("seldom")], byteBudget: 1 << 30)
        func values() throws -> [String: Int64] {
            let apps = try table.rank(request, app: nil, user: nil, now: Self.now).apps
            return Dictionary(uniqueKeysWithValues: apps.map { ($0.app, $0.valueUSec) })
        }
        let usual = try values()
        request.isOnBattery = true
        let onBattery = try values()
        (request.isOnBattery, request.isMemoryShort) = (false, true)
        let short = try values()
        for app in ["often", "seldom"] {
            #expect(onBattery[app]! < usual[app]! && short[app]! < usual[app]!)
        }
        // The app costs 16 MiB, which are worth 320 µs at ten times the price, and 32 µs usually.
        #expect(287...289 ~= usual["often"]! - short["often"]!)
        #expect(1899...1901 ~= usual["often"]! - onBattery["often"]!)
    }
}
