import ArgumentParser
@testable import GreenroomCommands
import GreenroomControl
import GreenroomLinux
import Synchronization
import Varlink
import VarlinkTestSupport

/// A daemon with two apps that does what a test says.
final class FakeDaemon: Sendable {
    struct Received: Sendable {
        let call: ControlCall
        /// The descriptors are closed after the answer: if an app's output stayed open here, it
        /// would never end.
        let descriptors: [FileDescriptor]
    }

    struct Logged: Sendable {
        let call: ControlCall
        let descriptorCount: Int
    }

    private let log: Log
    let server: TestServer

    static let apps = [
        Control.AppSummary(
            identifier: "org.ffmpeg.ffmpeg", name: "FFmpeg", prewarmedCount: 1, prewarmTarget: 2,
            runningCount: 1, state: .active),
        Control.AppSummary(identifier: "org.debian.passwd", isEligible: false),
        Control.AppSummary(identifier: "org.other.passwd", prewarmTarget: 1),
    ]

    /// - Parameter answer: returns the answer to a call; nil for the usual answer. It also gets the
    ///   number of earlier calls.
    init(
        _ answer: @escaping @Sendable (Received, Int) -> TestServer.Answer? = { _, _ in nil }
    ) throws {
        let log = Log()
        server = try TestServer { incoming in
            do throws(ServiceError) {
                let received = Received(
                    call: try ControlCall(incoming.call), descriptors: incoming.descriptors)
                let count = log.append(received)
                return answer(received, count) ?? FakeDaemon.usual(received.call)
            } catch {
                return .fail(error)
            }
        }
        self.log = log
    }

    /// The calls so far, oldest first.
    var received: [Logged] { log.all }

    private final class Log: Sendable {
        private let list = Mutex<[Logged]>([])
        func append(_ received: Received) -> Int {
            list.withLock {
                $0.append(
                    Logged(
                        call: received.call, descriptorCount: received.descriptors.count))
                return $0.count - 1
            }
        }
        var all: [Logged] { list.withLock { $0 } }
    }

    static let launched = Control.Launched(
        instance: 4, processId: 4711, launchIdentifier: "x", kind: .cold, coldReason: .noneReady,
        elapsedUSec: 12_345)

    private static func usual(_ call: ControlCall) -> TestServer.Answer {
        switch call {
        case .list, .listAll, .listCalled: .reply([ControlReply.listed(apps)])
        case .launch(let launch):
            if apps.contains(where: { $0.identifier == launch.app }) {
                .reply([ControlReply.launched(launched)])
            } else {
                .fail(ControlError.noSuchApp(launch.app, suggestion: nil))
            }
        case .transition: .reply([ControlReply.changed(.init(instance: 4, state: .suspended))])
        case .prewarm(_, let count):
            .reply([ControlReply.prewarmed((0..<UInt64(count)).map { 7 + $0 })])
        case .wait:
            .reply([
                ControlReply.exited(
                    .init(
                        instance: 4, app: "org.ffmpeg.ffmpeg",
                        exit: .init(reason: .exitedSelf, status: 7)))
            ])
        case .signal: .reply([ControlReply.done])
        case .describe, .status, .watch, .reload, .verify, .explain, .resetFailed, .application,
            .prepare,
            .debugPressure, .metrics, .task, .history, .forgetHistory,
            .keepHistory, .forgetImports, .plan, .pauseHistory, .reportForeground:
            .fail(ControlError.shuttingDown)
        }
    }
}

/// Keeps what was written.
final class RecordedConsole: Console {
    private(set) var output = ""
    private(set) var complaints = ""
    func write(_ text: String) { output += text }
    func complain(_ text: String) { complaints += text + "\n" }
}

/// What a verb printed and the code it ended with.
struct Ran: Equatable {
    var output: String
    var complaints = ""
    var code: Int32 = 0
}

/// Runs a verb in this process against the daemon.
func run(_ words: String..., on daemon: FakeDaemon) throws -> Ran {
    try run([words[0], "--socket", daemon.server.path] + words.dropFirst())
}

func run(_ words: [String]) throws -> Ran {
    let console = RecordedConsole()
    let command = try Greenroomctl.parseAsRoot(words)
    guard let verb = command as? any Verb else { throw ValidationError("no verb") }
    let code = verb.execute(console)
    return Ran(output: console.output, complaints: console.complaints, code: code)
}
