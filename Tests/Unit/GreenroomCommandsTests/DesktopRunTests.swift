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
        ControlError.refused(code: "not_text", reason: "a name is not UTF-8"),
        .permissionDenied(needed: "another user"), .limitExceeded(what: "launches", limit: 1),
        .noSuchApp("org.ffmpeg.ffmpeg", suggestion: nil),
    ])
    func `the command is executed if the daemon refuses the launch`(error: ControlError) throws {
        let daemon = try FakeDaemon { received, _ in
            if case .launch = received.call { .fail(error) } else { nil }
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) \(`greenroomctl run`.program) desktop run \
            org.ffmpeg.ffmpeg --before 3 --after 1 -- \
            sh -c 'echo "$0:$@"; exit 3' "a b" --help end </dev/null
            """)
        #expect(result.output == "a b:--help end\n" && result.status == 3, "\(result)")
    }

    /// Nothing would confine the command.
    @Test(arguments: [
        (ControlError.refused(code: "not_text", reason: "a name is not UTF-8"), Int32(125)),
        (.refused(code: "masked", reason: "masked by /x"), 127),
        (.spawnFailed(stage: "setting up the sandbox", errno: EPERM, reason: "EPERM"), 125),
        (.limitExceeded(what: "launches", limit: 1), 125),
        (.permissionDenied(needed: "another user"), 0),
        (.noSuchApp("org.ffmpeg.ffmpeg", suggestion: nil), 0),
    ])
    func `the command of an app with a manifest is executed only without the app`(
        error: ControlError, status: Int32
    ) throws {
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .listAll:
                var app = FakeDaemon.apps[0]
                app.manifestFile = "/etc/greenroom/apps/org.ffmpeg.ffmpeg.conf"
                return .reply([ControlReply.listed([app])])
            case .launch: return .fail(error)
            case _: return nil
            }
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) \
            \(Self.words.replacing("ffmpeg /a", with: "echo direct")) </dev/null 2>/dev/null
            """)
        #expect(result.output == (status == 0 ? "direct\n" : ""))
        #expect(result.status == status)
    }

    /// A daemon that is just restarted may know of a sandbox.
    @Test(arguments: [true, false])
    func `the command is executed if the daemon does not answer and there is no manifest`(
        hasManifest: Bool
    ) throws {
        let folder = try TemporaryDirectory()
        if hasManifest {
            for part in ["greenroom", "greenroom/apps"] { mkdir(folder.path + "/" + part, 0o755) }
            try folder.write("", to: "greenroom/apps/org.ffmpeg.ffmpeg.app")
        }
        let daemon = try FakeDaemon { received, _ in
            if case .listAll = received.call { .hangUp } else { nil }
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) XDG_CONFIG_HOME=\(folder.path) \
            \(Self.words.replacing("ffmpeg /a", with: "echo direct")) </dev/null 2>/dev/null
            """)
        #expect(result.output == (hasManifest ? "" : "direct\n"))
        #expect(Self.launches(of: daemon).count == (hasManifest ? 1 : 0))
    }

    @Test(arguments: [
        ("true", "own:/usr/bin:/bin", "mine\n"), ("true", "/usr/bin:/bin", ""),
        // The copy is older than the app.
        ("old-true", "/usr/bin:/bin", ""),
    ])
    func `the daemon launches only the program that the command means here`(
        command: String, path: String, output: String
    ) throws {
        let folder = try TemporaryDirectory()
        mkdir(folder.path + "/own", 0o755)
        try folder.write("#!/bin/sh\necho mine\n", to: "own/true", mode: 0o755)
        let daemon = try FakeDaemon { received, _ in
            guard case .listAll = received.call else { return nil }
            var app = FakeDaemon.apps[0]
            app.program = "/bin/true"
            return .reply([ControlReply.listed([app])])
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) \
            PATH=\(path.replacing("own", with: folder.path + "/own")) \
            \(Self.words.replacing("ffmpeg /a", with: command))
            """)
        #expect(result.output == output)
        #expect(Self.launches(of: daemon).count == (output.isEmpty ? 1 : 0))
    }

    /// The link would launch the app as from a terminal.
    @Test func `the app is launched as from a menu although PATH has a link of its name`() throws {
        let folder = try TemporaryDirectory()
        symlink(
            `greenroomctl run`.program.replacing("greenroomctl", with: "greenroom-run"),
            folder.path + "/true")
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .list, .listAll, .listCalled:
                var app = FakeDaemon.apps[0]
                app.program = "/bin/true"
                return .reply([ControlReply.listed([app])])
            case _: return nil
            }
        }
        _ = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) DISPLAY=:9 PATH=\(folder.path):/usr/bin:/bin \
            \(Self.words.replacing("ffmpeg /a", with: "true")) </dev/null >/dev/null 2>&1
            """)
        let launches = Self.launches(of: daemon)
        guard launches.count == 1, case .launch(let launch) = launches[0].call else {
            Issue.record("\(launches)")
            return
        }
        #expect(!launch.isAttached)
    }

    /// The link would ask the daemon again, which would refuse again. Another app than this one may
    /// have a sandbox.
    @Test(arguments: [(nil, "mine\n"), ("org.other.viewer", "")])
    func `after a refusal, the program is executed that is behind a link to the same app`(
        other: String?, output: String
    ) throws {
        let folder = try TemporaryDirectory()
        for path in ["links", "own"] { mkdir(folder.path + "/" + path, 0o755) }
        symlink(
            `greenroomctl run`.program.replacing("greenroomctl", with: "greenroom-run"),
            folder.path + "/links/viewer")
        let program = try folder.write("#!/bin/sh\necho mine\n", to: "own/viewer", mode: 0o755)
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .list, .listAll, .listCalled:
                var app = FakeDaemon.apps[0]
                app.program = program
                let others = other.map { [Control.AppSummary(identifier: $0)] } ?? []
                return .reply([ControlReply.listed([app] + others)])
            case .launch: return .fail(ControlError.limitExceeded(what: "launches", limit: 1))
            case _: return nil
            }
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) \
            PATH=\(folder.path)/links:\(folder.path)/own:/usr/bin:/bin \
            \(Self.words.replacing("ffmpeg /a", with: "viewer")) </dev/null 2>/dev/null
            """)
        #expect(result.output == output)
    }

    /// A folder for an ordinary user, with a runtime directory and a folder of configuration.
    private func home(hasManifest: Bool = false) throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o711)
        for path in ["runtime", "runtime/greenroom", "config", "config/greenroom"] {
            mkdir(folder.path + "/" + path, 0o755)
            chown(folder.path + "/" + path, Self.user, Self.user)
        }
        if hasManifest {
            let apps = folder.path + "/config/greenroom/apps"
            mkdir(apps, 0o755)
            try folder.write("", to: "config/greenroom/apps/org.ffmpeg.ffmpeg.app")
            chown(apps, Self.user, Self.user)
        }
        return folder
    }

    private static let user: uid_t = 65534

    /// Runs the command as an ordinary user, in a mount namespace with a `/run` of its own, in which
    /// there is a manifest of the app, or a folder of manifests that only root may read.
    private func run(
        _ home: TemporaryDirectory, besides system: FakeDaemon, isFolderClosed: Bool = false
    ) throws -> (status: Int32, output: String) {
        let apps = "/run/greenroom/apps"
        let content = isFolderClosed ? "chmod 700 \(apps)" : ": >\(apps)/org.ffmpeg.ffmpeg.app"
        try requireOrSkip(
            getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0,
            "only root can make a mount namespace on every system; setpriv is in util-linux")
        admitAll(to: system)
        return PythonClient.shell(
            """
            unset GREENROOM_SOCKET GREENROOM_RUNTIME_DIRECTORY
            XDG_RUNTIME_DIR=\(home.path)/runtime XDG_CONFIG_HOME=\(home.path)/config \
            unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p \(apps) && \(content) \
            && ln -s \(system.server.path) /run/greenroom/control && cd / \
            && exec setpriv --reuid=\(Self.user) --regid=\(Self.user) --clear-groups \
            \(Self.words.replacing("ffmpeg /a", with: "echo direct"))' </dev/null
            """)
    }

    /// Lets any user connect.
    private func admitAll(to daemon: FakeDaemon) {
        let path = daemon.server.path
        chmod(path, 0o666)
        chmod(String(path.dropLast("/control".utf8.count)), 0o711)
    }

    private static let confinedApp: Control.AppSummary = {
        var app = FakeDaemon.apps[0]
        app.manifestFile = "/etc/greenroom/apps/org.ffmpeg.ffmpeg.app"
        return app
    }()

    @Test(arguments: [false, true])
    func `the system's daemon is asked if the user's, which has no manifest, is silent`(
        hasManifest: Bool
    ) throws {
        let folder = try home(hasManifest: hasManifest)
        let silent = try FakeDaemon { received, _ in
            if case .listAll = received.call { .hangUp } else { nil }
        }
        let system = try FakeDaemon { received, _ in
            guard case .listAll = received.call else { return nil }
            return .reply([ControlReply.listed([Self.confinedApp])])
        }
        admitAll(to: silent)
        symlink(silent.server.path, folder.path + "/runtime/greenroom/control")
        let result = try run(folder, besides: system)
        #expect(result.status == 7, "\(result)")
        #expect(Self.launches(of: silent).count == (hasManifest ? 1 : 0))
        #expect(Self.launches(of: system).count == (hasManifest ? 0 : 1))
    }

    /// The system's daemon may confine the app.
    @Test(arguments: [(false, false), (true, false), (true, true)])
    func `the system's daemon is asked although the user's has left a socket`(
        isSilent: Bool, isFolderClosed: Bool
    ) throws {
        let folder = try home()
        let left = folder.path + "/runtime/greenroom/control"
        let abandoned = try UnixSocket.listen(at: left, .stream, mode: 0o666)
        // A child of another test may have a copy until its exec.
        shutdown(abandoned.descriptor.rawValue, CInt(SHUT_RDWR))
        #expect(throws: SystemError.self) { try UnixSocket.connect(to: left, .stream) }
        let system = try FakeDaemon { received, _ in
            guard case .listAll = received.call else { return nil }
            return isSilent ? .hangUp : .reply([ControlReply.listed([Self.confinedApp])])
        }
        let result = try run(folder, besides: system, isFolderClosed: isFolderClosed)
        #expect(result.status == 7 && result.output == "", "\(result)")
        #expect(Self.launches(of: system).count == 1)
    }

    @Test(arguments: [
        ControlError.shuttingDown, .noSuchApp("org.ffmpeg.ffmpeg", suggestion: nil),
    ])
    func `the command is not executed if the launch may have been made`(
        later: ControlError
    ) throws {
        let launchCount = Mutex(0)
        let daemon = try FakeDaemon { received, _ in
            guard case .launch = received.call else { return nil }
            return launchCount.withLock {
                $0 += 1
                return $0 == 1 ? .hangUp : .fail(later)
            }
        }
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) \(`greenroomctl run`.program) run \
            org.ffmpeg.ffmpeg --else 1:0 -- echo direct </dev/null 2>/dev/null
            """)
        #expect(result.output == "" && result.status == 125, "\(result)")
        #expect(launchCount.withLock { $0 } > 1)
    }

    @Test func `the command is executed if more descriptors are open than can be passed`() throws {
        let daemon = try FakeDaemon()
        let words = Self.words.replacing("ffmpeg /a", with: "echo direct")
        let result = PythonClient.shell(
            """
            GREENROOM_SOCKET=\(daemon.server.path) exec bash -c '
            for number in {20..70}; do eval "exec $number</dev/null"; done; exec \(words)'
            """)
        #expect(result.output == "direct\n", "\(result)")
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
