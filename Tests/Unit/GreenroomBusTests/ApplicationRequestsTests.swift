import Glibc
import GreenroomControl
import Synchronization
import Testing
import Varlink
import VarlinkTestSupport

@testable import GreenroomBus

@Suite struct ApplicationRequestsTests {
    @Test(arguments: [
        (ControlError.permissionDenied(needed: "another user"), ApplicationRequests.Kind.absent),
        (.noSuchApp("org.example.view", suggestion: nil), .absent),
        (.refused(code: "not_application_kit", reason: "x"), .program),
        (.refused(code: "no_action", reason: "x"), .kit),
    ])
    func `the daemon's error tells what the app is`(
        error: ControlError, kind: ApplicationRequests.Kind
    ) throws {
        let server = try TestServer { _ in .fail(error) }
        let requests = ApplicationRequests(
            app: "org.example.view", daemon: Daemon(path: server.path))
        #expect(try requests.kind() == kind)
    }

    /// If the daemon counted as away, the command of the app's own service file would be executed,
    /// which nothing confines.
    @Test(arguments: [
        TestServer.Answer.hangUp, .fail(ControlError.shuttingDown),
    ])
    func `a question is repeated while the daemon is restarted`(answer: TestServer.Answer) throws {
        let count = Mutex(0)
        let server = try TestServer { _ in
            let isFirst = count.withLock {
                $0 += 1
                return $0 == 1
            }
            return isFirst
                ? answer : .fail(ControlError.refused(code: "not_application_kit", reason: "x"))
        }
        let requests = ApplicationRequests(
            app: "org.example.view", daemon: Daemon(path: server.path))
        #expect(try requests.kind() == .program)
        #expect(count.withLock { $0 } == 2)
    }

    /// systemd keeps the socket until the new daemon accepts connections.
    @Test func `a daemon that is being restarted may be silent for longer`() throws {
        let patience = AnswerPatience(usual: .seconds(10), restart: .seconds(60))
        let count = Mutex(0)
        let server = try TestServer { _ in
            let isFirst = count.withLock {
                $0 += 1
                return $0 == 1
            }
            if isFirst { return .hangUp }
            // Longer than usual even for a question that is asked only now.
            poll(nil, 0, 10_500)
            return .fail(ControlError.refused(code: "not_application_kit", reason: "x"))
        }
        let requests = ApplicationRequests(
            app: "org.example.view", daemon: Daemon(path: server.path))
        #expect(try requests.kind(patience) == .program)
    }

    @Test func `a daemon that does not come back after its end counts as away`() throws {
        let path = Mutex("")
        let server = try TestServer { _ in
            path.withLock { _ = unlink($0) }
            return .hangUp
        }
        path.withLock { $0 = server.path }
        let requests = ApplicationRequests(
            app: "org.example.view", daemon: Daemon(path: server.path))
        let patience = AnswerPatience(usual: .seconds(30), restart: .seconds(1))
        #expect(try requests.kind(patience) == .absent)
    }

    @Test(arguments: [
        (TestServer.Answer.hangUp, Duration.seconds(20)),
        (.fail(ControlError.shuttingDown), .seconds(20)),
        (.fail(ServiceError.methodNotFound("io.greenroom.PerformAction")), .seconds(20)),
        (.hold, .zero),
    ])
    func `a daemon that goes on not to answer is neither away nor waited for`(
        answer: TestServer.Answer, usual: Duration
    ) throws {
        let server = try TestServer { _ in answer }
        let requests = ApplicationRequests(
            app: "org.example.view", daemon: Daemon(path: server.path))
        let patience = AnswerPatience(usual: usual, restart: .zero)
        #expect(throws: DaemonFailure.self) { try requests.kind(patience) }
    }
}
