import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// One user takes as much as possible, also as several users (subuid(5)). Something is left for
/// others and for root.
@Suite struct ShareTests {
    private static let greedy: Int32 = 12_347
    private static let other: Int32 = 12_348

    private func connect(_ daemon: TestDaemon, as user: Int32) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, user, user, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    private func app(of user: Int32) -> String { "org.example.user\(user)" }

    @Test func `one user's launches leave instances for another user and for root`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let probe = try compileProbe("behave.c")
        var options = TestDaemon.Options()
        options.configuration = ["InstanceLimit=16"]
        let users = [Self.greedy, Self.other, 0]
        let daemon = try TestDaemon(
            users.map { program(app(of: $0), probe, ["User=\($0)"]) }, options)
        func launch(as user: Int32) throws -> ControlError? {
            let client = try connect(daemon, as: user)
            return control { _ = try client.launch(app(of: user), ["wait-forever"]) }
        }
        var count = 0
        var refusal: ControlError?
        while refusal == nil, count < 16 {
            refusal = try launch(as: Self.greedy)
            if refusal == nil { count += 1 }
        }
        #expect(count == 7)
        let share =
            "instances of one user, next to those of others (InstancesPerUser= and InstanceLimit= in "
            + "greenroom.conf)"
        #expect(refusal == .limitExceeded(what: share, limit: 7))
        for _ in 0..<3 { #expect(try launch(as: Self.other) == nil) }
        for _ in 0..<5 { #expect(try launch(as: 0) == nil) }
    }

    @Test func `one user's template instances leave some for another user and for root`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let users = [Self.greedy, Self.other, 0]
        let daemon = try TestDaemon(
            users.map {
                var app = program(
                    "\(app(of: $0))@", "/bin/true", ["Type=application-kit", "User=\($0)"])
                // An instance that waits for its file is not forgotten.
                app.lines += ["[Path]", "PathExists=/nonexistent/%i"]
                return app
            })
        func make(_ number: Int, as user: Int32, _ client: TestClient) -> ControlError? {
            control { _ = try client.call(.resetFailed(app: "\(app(of: user))@\(number)")) }
        }
        let client = try connect(daemon, as: Self.greedy)
        var count = 0
        var refusal: ControlError?
        while refusal == nil, count < 1024 {
            refusal = make(count, as: Self.greedy, client)
            if refusal == nil { count += 1 }
        }
        #expect(count == 448)
        let share = "instances of one user's templates, next to those of others"
        #expect(refusal == .limitExceeded(what: share, limit: 448))
        let other = try connect(daemon, as: Self.other)
        for number in 0..<3 { #expect(make(number, as: Self.other, other) == nil) }
        let own = try daemon.client()
        for number in 0..<3 { #expect(make(number, as: 0, own) == nil) }
    }

    @Test func `connections of one person's many users leave some for others and for root`() throws
    {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        var options = TestDaemon.Options()
        options.configuration = ["ConnectionsMax=64", "ConnectionsPerUser=32"]
        let daemon = try TestDaemon([program("org.example.app", "/bin/true")], options)
        var held: [TestClient] = []
        for user in 0..<4 {
            for _ in 0..<32 {
                let client = try connect(daemon, as: 200_000 + Int32(user))
                // A connection that is refused may be closed before its call is sent.
                if (try? client.list()) != nil { held.append(client) }
            }
        }
        #expect(held.count < 56)
        // There is room for one connection of each user, and for several of root.
        let other = try connect(daemon, as: Self.other)
        #expect(try other.list().isEmpty)
        let own = try (0..<8).map { _ in try daemon.client() }
        for client in own { #expect(try client.list().count == 1) }
        withExtendedLifetime(held) {}
    }
}
