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
}
