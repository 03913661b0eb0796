import Glibc
import GreenroomControl
import GreenroomLinux
import Synchronization
import TestSupport
import Testing
import VarlinkTestSupport

@testable import GreenroomCommands

/// greenroomctl and greenroom-run in processes of their own, with a fake daemon that plays the app.
@Suite struct `greenroomctl run` {
    enum Client: CaseIterable {
        case greenroomctl, greenroomRun

        /// The command line before the app's name.
        var words: String {
            switch self {
            case .greenroomctl: `greenroomctl run`.program + " run"
            case .greenroomRun: `greenroomctl run`.built("greenroom-run")
            }
        }
    }

    static let program = built("greenroomctl")

    fileprivate static func built(_ name: String) -> String {
        let tests = CommandLine.arguments[0]
        let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
        // Beside the test bundle, whose path is an argument of the test runner.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? tests
        let directory = bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        let candidates = [directory + "/" + name, root + "/.build/debug/" + name]
        return candidates.first { access($0, X_OK) == 0 } ?? candidates[1]
    }

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

    @Test(arguments: Client.allCases)
    func `run gives nothing to a daemon in another user's runtime directory`(
        _ client: Client
    ) throws {
        try requireOrSkip(getuid() == 0, "only root can give a directory away")
        let daemon = try FakeDaemon()
        let folder = try TemporaryDirectory()
        mkdir(folder.path + "/greenroom", 0o755)
        symlink(daemon.server.path, folder.path + "/greenroom/control")
        let line = """
            env -u GREENROOM_SOCKET -u GREENROOM_RUNTIME_DIRECTORY XDG_RUNTIME_DIR=\(folder.path) \
            \(client.words) ffmpeg </dev/null 2>/dev/null
            """
        #expect(PythonClient.shell(line).status == 7)
        let count = daemon.received.count
        chown(folder.path, 65_534, 65_534)
        #expect(PythonClient.shell(line).status == 125)
        #expect(daemon.received.count == count)
    }

    /// A folder with a link to the client (`links/ffmpeg`) and the program of that name
    /// (`real/ffmpeg`).
    private static func linkedFolder(_ client: Client) throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        for name in ["links", "real"] { mkdir(folder.path + "/" + name, 0o755) }
        try folder.write("#!/bin/sh\necho real \"$@\"\n", to: "real/ffmpeg", mode: 0o755)
        let program = client == .greenroomctl ? "greenroomctl" : "greenroom-run"
        symlink(built(program), folder.path + "/links/ffmpeg")
        return folder
    }

    /// - Parameter directories: those of PATH in the folder.
    private static func callLink(
        in folder: TemporaryDirectory, _ directories: String..., socket: String
    ) -> (status: Int32, output: String) {
        let path = directories.map { "\(folder.path)/\($0):" }.joined()
        return PythonClient.shell(
            """
            export GREENROOM_SOCKET=\(socket) PATH=\(path)/usr/bin:/bin FOLDER=\(folder.path)
            sh -c 'echo $$ >$FOLDER/pid; exec $FOLDER/links/ffmpeg "a b" -c' </dev/null 2>&1
            exit $?
            """)
    }

    @Test(arguments: Client.allCases, ["noSuchApp", "unreachable"])
    func `a link does not execute the program if the launch may have been made`(
        _ client: Client, later: String
    ) throws {
        let folder = try Self.linkedFolder(client)
        let socket = folder.path + "/control"
        let launchCount = Mutex(0)
        let daemon = try FakeDaemon { received, _ in
            guard case .launch(let launch) = received.call else { return nil }
            let count = launchCount.withLock {
                $0 += 1
                return $0
            }
            if later == "unreachable" { unlink(socket) }
            return count == 1
                ? .hangUp : .fail(ControlError.noSuchApp(launch.app, suggestion: nil))
        }
        symlink(daemon.server.path, socket)
        let result = Self.callLink(in: folder, "links", "real", socket: socket)
        #expect(launchCount.withLock { $0 } == (later == "unreachable" ? 1 : 2))
        #expect([125, 127].contains(result.status), "\(result)")
        #expect(!result.output.contains("real"), "\(result)")
    }

    @Test(arguments: Client.allCases)
    func `a link executes the program if the daemon leaves before the launch`(
        _ client: Client
    ) throws {
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .list, .listCalled: .hangUp
            default: nil
            }
        }
        let folder = try Self.linkedFolder(client)
        let result = Self.callLink(in: folder, "links", "real", socket: daemon.server.path)
        #expect(result.status == 0 && result.output == "real a b -c\n", "\(result)")
    }

    @Test func `a signal during a launch that is then refused ends a link`() throws {
        let folder = try Self.linkedFolder(.greenroomctl)
        let path = folder.path + "/pid"
        let daemon = try FakeDaemon { received, _ in
            guard case .launch = received.call, let text = try? readFile(path),
                let pid = pid_t(String(decoding: text.dropLast(), as: UTF8.self))
            else { return nil }
            kill(pid, SIGTERM)
            // Until the client has read it.
            let deadline = ContinuousClock.now + .milliseconds(Patience.milliseconds)
            while let status = try? readFile("/proc/\(pid)/status"),
                !String(decoding: status, as: UTF8.self).contains("ShdPnd:\t0000000000000000"),
                ContinuousClock.now < deadline
            {
                poll(nil, 0, 1)
            }
            return .fail(ControlError.permissionDenied(needed: "to be root"))
        }
        let result = Self.callLink(in: folder, "links", "real", socket: daemon.server.path)
        #expect(!result.output.contains("real"), "\(result)")
        #expect(result.status == 128 + SIGTERM, "\(result)")
    }

    @Test(arguments: Client.allCases)
    func `a link to an app that the caller may not launch executes the program itself`(
        _ client: Client
    ) throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .launch = received.call else { return nil }
            return .fail(ControlError.permissionDenied(needed: "to be root"))
        }
        let folder = try Self.linkedFolder(client)
        let socket = daemon.server.path
        let result = Self.callLink(in: folder, "links", "real", socket: socket)
        #expect(result.status == 0 && result.output == "real a b -c\n", "\(result)")
        #expect(
            daemon.received.contains { if case .launch = $0.call { true } else { false } })
        // Without such a program, the daemon's answer is the message.
        unlink(folder.path + "/real/ffmpeg")
        if access("/usr/bin/ffmpeg", X_OK) != 0 {
            let none = Self.callLink(in: folder, "links", socket: socket)
            #expect(none.status == 127 && none.output.contains("requires to be root"), "\(none)")
        }
    }

    @Test func `output for a standard output that is closed is lost with an error`() throws {
        let daemon = try FakeDaemon()
        let line = "\(Self.program) list --socket \(daemon.server.path) 2>&1 >&-"
        let result = PythonClient.shell(line)
        #expect(result.status == 1, "\(result)")
        #expect(result.output.contains("writing the output: bad file descriptor"), "\(result)")
    }

    @Test func `a launch that has begun is repeated at both daemons`() throws {
        let first = try FakeDaemon { received, _ in
            guard case .launch(let launch) = received.call else { return nil }
            return .fail(ControlError.noSuchApp(launch.app, suggestion: nil))
        }
        let second = try FakeDaemon()
        let call = Control.LaunchCall(app: "org.ffmpeg.ffmpeg")
        // The first daemon was away when this process began.
        let (_, launched) = try FollowedLaunch.begin(
            nil, first.server.path, second: second.server.path, call, descriptors: [])
        #expect(launched == FakeDaemon.launched)
        #expect(first.received.count == 1)
    }

    @Test(arguments: Client.allCases)
    func `run gives the app everything that a directly called program gets`(_ client: Client) throws
    {
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
            cd /usr && umask 027 && GREETING='é x' \(client.words) ffmpeg \
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

    @Test(arguments: Client.allCases)
    func `run never gives its own connection in place of a closed descriptor`(_ client: Client)
        throws
    {
        let paths = Mutex<[String]>([])
        let daemon = try FakeDaemon { received, _ in
            if case .launch = received.call {
                paths.withLock { $0 = received.descriptors.map(Self.path) }
            }
            return nil
        }
        let result = PythonClient.shell(
            """
            cd / && \(client.words) ffmpeg --socket \(daemon.server.path) <&- >&- 2>&-
            """)
        #expect(result.status == 7)
        #expect(paths.withLock { $0 } == ["/"])
    }

    /// The argument parser would take many minutes for these.
    @Test func `a word that is not UTF-8 and belongs to nothing is left to the full parser`() {
        let app: [ByteString] = ["run", "org.ffmpeg.ffmpeg"]
        #expect(AttachedRun(plain: app + [ByteString(bytes: [0xff])]) == nil)
        #expect(AttachedRun(plain: app + ["--", ByteString(bytes: [0xff])])?.arguments.count == 1)
    }

    @Test(arguments: ["launch ffmpeg", "run ffmpeg --env=A=b"])
    func `the arguments of an app are passed on unread`(words: String) throws {
        let daemon = try FakeDaemon()
        _ = PythonClient.shell(
            """
            \(Self.program) \(words) --socket \(daemon.server.path) -- --version $(seq 40000) \
            </dev/null >/dev/null
            """)
        let launches = daemon.received.compactMap { received in
            if case .launch(let launch) = received.call { launch } else { nil }
        }
        #expect(launches.first?.arguments.count == 40_001)
        #expect(launches.first?.arguments.prefix(2) == ["--version", "1"])
        #expect(launches.first?.arguments.last == "40000")
    }

    /// The comparison is byte by byte, apart from the random name of the launch.
    @Test func `both clients send the same messages and descriptors for the same caller`() throws {
        let script = packageRoot + "/Tests/Probes/recorded-daemon.py"
        let result = PythonClient.shell(
            "python3 \(script) \(Self.program) \(Self.built("greenroom-run"))")
        #expect(result.output.hasPrefix("the same: "))
        #expect(result.output.hasSuffix(" messages\n"))
    }

    /// If the app has ended in the meantime, another process may have its number.
    @Test(arguments: [true, false])
    func `greenroom-run ends with the process of the reply, which it knows by its inode`(
        isSame: Bool
    ) throws {
        let app = try ChildProcess(ChildRequest("/bin/sleep", arguments: ["sleep", "1000"]))
        let process = try ProcessDescriptor(pid: app.pid)
        let inode = try #require(process.inode)
        let silence = try Pipe()
        let end = silence.readEnd
        let launched = Control.Launched(
            instance: 4, processId: app.pid, processInode: isSame ? inode : inode + 1,
            launchIdentifier: "x", kind: .cold, elapsedUSec: 1)
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .launch: return .reply([ControlReply.launched(launched)])
            case .wait:
                _ = readToEnd(end)
                return nil
            default: return nil
            }
        }
        let words = [Self.built("greenroom-run"), "ffmpeg", "--socket", daemon.server.path]
        let client = try ChildProcess(ChildRequest(words[0], arguments: words))
        let deadline = ContinuousClock.now + .milliseconds(Patience.milliseconds)
        while !KernelObjects.openFiles(of: client.pid).contains(where: { $0.contains("pidfd") }) {
            try #require(ContinuousClock.now < deadline, "greenroom-run opens no pidfd")
            poll(nil, 0, 1)
        }
        app.kill(SIGKILL)
        _ = try app.waitForExit()
        if isSame {
            try requireOrSkip(process.exit != .untold, "Linux 6.15 is needed")
            #expect(try client.waitForExit() == .signal(SIGKILL))
            silence.closeWriteEnd()
        } else {
            silence.closeWriteEnd()
            #expect(try client.waitForExit() == .status(7))
        }
    }

    @Test(arguments: Client.allCases)
    func `run ends by the signal that ended the app`(_ client: Client) throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .wait = received.call else { return nil }
            return Self.exited(.init(reason: .crashed, signal: SIGSEGV))
        }
        let result = PythonClient.shell(
            """
            sh -c '\(client.words) ffmpeg --socket \(daemon.server.path)' 2>/dev/null
            echo $?
            """)
        #expect(result.output == "139\n")
    }

    @Test(arguments: Client.allCases)
    func `run forwards signals to the app`(_ client: Client) throws {
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
            case .describe, .list, .listAll, .listCalled, .verify, .status, .prewarm,
                .transition, .watch,
                .reload, .explain,
                .resetFailed, .application, .prepare, .debugPressure, .metrics, .task, .history,
                .forgetHistory, .keepHistory, .forgetImports, .plan, .pauseHistory,
                .reportForeground:
                return nil
            }
        }
        let result = PythonClient.shell(
            """
            directory=$(mktemp -d); mkfifo $directory/output
            \(client.words) ffmpeg --socket \(daemon.server.path) >$directory/output &
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

    @Test(arguments: Client.allCases)
    func `run forwards a signal that arrived before the app was started`(_ client: Client) throws {
        let output = Output()
        let isReleased = Mutex(false)
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .launch:
                // greenroom-run hands over to greenroomctl, which repeats the call, perhaps after
                // the transition.
                output.keep(received.descriptors[1])
                output.write("launching\n")
                return isReleased.withLock(\.self) ? nil : .hold
            case .transition:
                isReleased.withLock { $0 = true }
                return .replyReleasing(
                    ControlReply.changed(.init(instance: 1, state: .background)),
                    held: ControlReply.launched(FakeDaemon.launched))
            case .describe, .list, .listAll, .listCalled, .verify, .status, .prewarm, .wait,
                .signal, .watch,
                .reload, .explain,
                .resetFailed, .application, .prepare, .debugPressure, .metrics, .task, .history,
                .forgetHistory, .keepHistory, .forgetImports, .plan, .pauseHistory,
                .reportForeground:
                return nil
            }
        }
        let result = PythonClient.shell(
            """
            directory=$(mktemp -d); mkfifo $directory/output
            \(client.words) ffmpeg --socket \(daemon.server.path) >$directory/output &
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

    @Test(arguments: Client.allCases)
    func `run does not lose the app when the daemon is restarted`(_ client: Client) throws {
        let daemon = try FakeDaemon { received, count in
            // The connection breaks before the launch is answered, and while the client waits.
            count == 1 || count == 3 ? .hangUp : nil
        }
        let result = PythonClient.shell(
            "\(client.words) ffmpeg --socket \(daemon.server.path)")
        #expect(result.output == "")
        #expect(result.status == 7)
        let received = daemon.received
        let launches = received.filter { if case .launch = $0.call { true } else { false } }
        guard case .launch(let launch)? = launches.first?.call else {
            Issue.record("no launch")
            return
        }
        #expect(launches.count > 1)
        #expect(launches.allSatisfy { $0.call == .launch(launch) && $0.descriptorCount == 4 })
        let wait = ControlCall.wait(.launch(launch.launchIdentifier ?? ""))
        #expect(received.suffix(2).map(\.call) == [wait, wait])
    }
}

/// The output descriptor of a launch. One text is written, because its reader may then be gone.
private final class Output: Sendable {
    private let state: Mutex<(descriptor: FileDescriptor?, isUsed: Bool)> = Mutex((nil, false))
    func keep(_ descriptor: FileDescriptor) { state.withLock { $0.descriptor = descriptor } }
    func write(_ text: String) {
        state.withLock { state in
            guard let descriptor = state.descriptor, !state.isUsed else { return }
            state.isUsed = true
            let bytes = Array(text.utf8)
            _ = Glibc.write(descriptor.rawValue, bytes, bytes.count)
        }
    }
}
