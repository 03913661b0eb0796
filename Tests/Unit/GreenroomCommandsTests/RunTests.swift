import Glibc
import GreenroomControl
import GreenroomLinux
import Synchronization
import Testing
import VarlinkTestSupport

/// The program itself, in a process of its own, against a fake daemon that plays the app.
@Suite struct `greenroomctl run` {
    static let program = {
        let tests = CommandLine.arguments[0]
        let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
        // Beside the test bundle, whose path is an argument of the test runner.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? tests
        let directory = bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        let candidates = [directory + "/greenroomctl", root + "/.build/debug/greenroomctl"]
        return candidates.first { access($0, X_OK) == 0 } ?? candidates[1]
    }()

    private static func write(_ text: String, to descriptor: FileDescriptor) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor.rawValue, bytes, bytes.count)
    }

    private static func path(of descriptor: FileDescriptor) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor.rawValue)", &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
    }

    private static func exited(_ exit: Control.ExitRecord) -> TestServer.Answer {
        .reply([ControlReply.exited(.init(instance: 4, app: "org.ffmpeg.ffmpeg", exit: exit))])
    }

    @Test func `run gives the app everything that a directly called program gets`() throws {
        let daemon = try FakeDaemon { received, _ in
            if case .launch = received.call {
                Self.write("to output\n", to: received.descriptors[1])
                Self.write("to error\n", to: received.descriptors[2])
                let directory = Self.path(of: received.descriptors[3])
                Self.write("in \(directory)\n", to: received.descriptors[1])
            }
            return nil
        }
        let result = PythonClient.shell(
            """
            cd /usr && umask 027 && GREETING='é x' \(Self.program) run ffmpeg \
            --socket \(daemon.server.path) --env A=b -- -i 'x y' </dev/null
            """)
        #expect(result.output == "to output\nto error\nin /usr\n")
        #expect(result.status == 7)
        let launches = daemon.received.compactMap { received in
            if case .launch(let launch) = received.call { launch } else { nil }
        }
        #expect(launches.count == 1)
        #expect(launches.first?.isAttached == true)
        #expect(launches.first?.umask == 0o27)
        #expect(launches.first?.arguments == ["-i", "x y"])
        #expect(launches.first?.environment == [.init(name: "A", value: "b")])
        #expect(launches.first?.callerEnvironment?.contains("GREETING=é x") == true)
    }

    @Test func `run never gives its own connection in place of a closed descriptor`() throws {
        let paths = Mutex<[String]>([])
        let daemon = try FakeDaemon { received, _ in
            if case .launch = received.call {
                paths.withLock { $0 = received.descriptors.map(Self.path) }
            }
            return nil
        }
        let result = PythonClient.shell(
            """
            cd / && \(Self.program) run ffmpeg --socket \(daemon.server.path) <&- >&- 2>&-
            """)
        #expect(result.status == 7)
        #expect(paths.withLock { $0 } == ["/"])
    }

    @Test func `run ends by the signal that ended the app`() throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .wait = received.call else { return nil }
            return Self.exited(.init(reason: .crashed, signal: SIGSEGV))
        }
        let result = PythonClient.shell(
            """
            sh -c '\(Self.program) run ffmpeg --socket \(daemon.server.path)' 2>/dev/null
            echo $?
            """)
        #expect(result.output == "139\n")
    }

    @Test func `run forwards signals to the app`() throws {
        let ending = ControlReply.exited(
            .init(
                instance: 4, app: "org.ffmpeg.ffmpeg", exit: .init(reason: .exitedSelf, status: 9)))
        let output = Output()
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .launch:
                output.keep(received.descriptors[1])
                return nil
            case .wait:
                output.write("waiting\n")
                return .hold
            case .signal: return .replyReleasing(ControlReply.done, held: ending)
            case .describe, .list, .listAll, .verify, .status, .prewarm, .transition, .watch,
                .reload, .explain,
                .resetFailed, .application, .prepare, .debugPressure, .metrics, .task, .history,
                .forgetHistory:
                return nil
            }
        }
        let result = PythonClient.shell(
            """
            directory=$(mktemp -d); mkfifo $directory/output
            \(Self.program) run ffmpeg --socket \(daemon.server.path) >$directory/output &
            read line <$directory/output
            kill -USR1 $!
            wait $!
            echo $line $?
            rm -r $directory
            """)
        #expect(result.output == "waiting 9\n")
        #expect(
            daemon.received.map(\.call).contains(.signal(instance: 4, signal: SIGUSR1)))
    }

    @Test func `run forwards a signal that arrived before the app was started`() throws {
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .launch:
                Self.write("launching\n", to: received.descriptors[1])
                return .hold
            case .transition:
                return .replyReleasing(
                    ControlReply.changed(.init(instance: 1, state: .background)),
                    held: ControlReply.launched(FakeDaemon.launched))
            case .describe, .list, .listAll, .verify, .status, .prewarm, .wait, .signal, .watch,
                .reload, .explain,
                .resetFailed, .application, .prepare, .debugPressure, .metrics, .task, .history,
                .forgetHistory:
                return nil
            }
        }
        let result = PythonClient.shell(
            """
            directory=$(mktemp -d); mkfifo $directory/output
            \(Self.program) run ffmpeg --socket \(daemon.server.path) >$directory/output &
            read line <$directory/output
            kill -HUP $!
            \(Self.program) background --instance 1 --socket \(daemon.server.path) >/dev/null
            wait $!
            echo $line $?
            rm -r $directory
            """)
        #expect(result.output == "launching 7\n")
        #expect(daemon.received.map(\.call).contains(.signal(instance: 4, signal: SIGHUP)))
    }

    @Test func `run does not lose the app when the daemon is restarted`() throws {
        let daemon = try FakeDaemon { received, count in
            // The connection breaks before the launch is answered, and while it waits.
            count == 1 || count == 3 ? .hangUp : nil
        }
        let result = PythonClient.shell(
            "\(Self.program) run ffmpeg --socket \(daemon.server.path)")
        #expect(result.output == "")
        #expect(result.status == 7)
        let received = daemon.received
        #expect(received.count == 5)
        guard case .launch(let first) = received[1].call,
            case .launch(let second) = received[2].call
        else {
            Issue.record("no launches")
            return
        }
        #expect(first == second)
        #expect(received[2].descriptorCount == 4)
        let wait = ControlCall.wait(.launch(first.launchIdentifier ?? ""))
        #expect(received[3].call == wait)
        #expect(received[4].call == wait)
    }
}

/// The output that the app was lent.
private final class Output: Sendable {
    private let descriptor: Mutex<FileDescriptor?> = Mutex(nil)
    func keep(_ descriptor: FileDescriptor) { self.descriptor.withLock { $0 = descriptor } }
    func write(_ text: String) {
        descriptor.withLock { descriptor in
            let bytes = Array(text.utf8)
            _ = Glibc.write(descriptor?.rawValue ?? -1, bytes, bytes.count)
        }
    }
}
