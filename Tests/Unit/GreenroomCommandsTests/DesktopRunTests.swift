import Glibc
import GreenroomControl
import GreenroomLinux
import Synchronization
import TestSupport
import Testing
import VarlinkTestSupport

@testable import GreenroomCommands

/// The command in enabled desktop entries, with a fake daemon.
@Suite struct `greenroomctl desktop run` {
    private static let words =
        "\(`greenroomctl run`.program) desktop run org.ffmpeg.ffmpeg --before 1 --after 0 -- ffmpeg /a"

    private static func launches(of daemon: FakeDaemon) -> [FakeDaemon.Logged] {
        daemon.received.filter { if case .launch = $0.call { true } else { false } }
    }

    /// Runs the command in `/`, with the streams that the shell gives it. The shell's own output is
    /// a file without a name.
    private static func run(_ streams: String, _ daemon: FakeDaemon) -> Int32 {
        PythonClient.shell(
            """
            cd / && export DISPLAY=:9 GREENROOM_SOCKET=\(daemon.server.path)
            file=$(mktemp) && exec >$file && rm $file && \(words) \(streams)
            """
        ).status
    }

    @Test(arguments: [
        "</dev/null >/dev/null 2>&1", "</dev/null >$(mktemp) 2>&1",
        "</dev/null >/dev/null 2>>$(mktemp)",
    ])
    func `streams that only keep a log are left to the app`(streams: String) throws {
        let daemon = try FakeDaemon()
        #expect(Self.run(streams, daemon) == 7)
        let launches = Self.launches(of: daemon)
        guard launches.count == 1, case .launch(let launch) = launches[0].call else {
            Issue.record("\(launches)")
            return
        }
        #expect(!launch.isAttached && launch.arguments == ["/a"])
        #expect(
            [launch.standardInput, launch.standardOutput, launch.standardError] == [nil, nil, nil])
        #expect(launch.callerEnvironment != nil && launch.callerState != nil)
        #expect(launch.workingDirectoryDescriptor == 0 && launches[0].descriptorCount == 1)
    }

    @Test(arguments: [
        "</dev/null 2>&1 | cat", "</dev/null 2>&1 >/dev/null | cat",
        "<$(mktemp) >/dev/null 2>&1", "<&- >/dev/null 2>&1", "</dev/null 2>&1",
    ])
    func `streams that somebody may read or write belong to the app`(streams: String) throws {
        let daemon = try FakeDaemon()
        _ = Self.run(streams, daemon)
        let launches = Self.launches(of: daemon)
        guard case .launch(let launch)? = launches.first?.call else {
            Issue.record("no launch")
            return
        }
        #expect(launch.isAttached && launch.standardOutput != nil && launch.standardError != nil)
    }

    @Test func `a launch of an app that runs already ends at once`() throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .launch = received.call else { return nil }
            var launched = FakeDaemon.launched
            launched.kind = .known(.foreground)
            return .reply([ControlReply.launched(launched)])
        }
        #expect(Self.run("</dev/null >/dev/null 2>&1", daemon) == 0)
    }

    /// greenroom-run becomes greenroomctl, which makes the same call again.
    @Test func `the launch is made once although the daemon is restarted`() throws {
        let launchCount = Mutex(0)
        let daemon = try FakeDaemon { received, _ in
            guard case .launch = received.call else { return nil }
            return launchCount.withLock {
                $0 += 1
                return $0 == 1 ? .hangUp : nil
            }
        }
        #expect(Self.run("</dev/null >/dev/null 2>&1", daemon) == 7)
        let launches = Self.launches(of: daemon)
        #expect(launches.count == 2 && launches[0].call == launches[1].call)
        #expect(launches.allSatisfy { $0.descriptorCount == 1 })
    }

    @Test(arguments: [
        ("/run/systemd/journal/stdout", true), ("/run/systemd/journal.work/stdout", true),
        ("/run/systemd/journal/socket", false), ("/tmp/run/systemd/journal/stdout", false),
        ("/run/systemd/other/stdout", false), ("", false),
    ])
    func `the journal's streams are known by their address`(path: String, isJournal: Bool) {
        #expect(LauncherStreams.isJournal(at: path) == isJournal)
    }

    /// A session that was started from a login on a console has such a console.
    @Test func `a console in whose place a display is shown is nobody's terminal`() throws {
        let console = open("/dev/tty63", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(console) }
        let setMode: UInt = 0x4b3a
        try requireOrSkip(
            console >= 0 && ioctl(console, setMode, 1) == 0, "there is no console")
        for (mode, isAttached) in [(CInt(1), false), (0, true)] {
            _ = ioctl(console, setMode, mode)
            let daemon = try FakeDaemon()
            var request = ChildRequest(
                "/bin/sh", arguments: ["sh", "-c", Self.words],
                environment: [
                    "PATH=/usr/bin:/bin", "DISPLAY=:9", "GREENROOM_SOCKET=\(daemon.server.path)",
                ])
            request.descriptors = [0: console, 1: console, 2: console]
            let process = try ChildProcess(request)
            #expect(try process.waitForExit() == .status(7))
            guard case .launch(let launch)? = Self.launches(of: daemon).first?.call else {
                Issue.record("no launch")
                continue
            }
            #expect(launch.isAttached == isAttached)
        }
    }
}
