import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Sockets that the daemon listens on for apps.
@Suite struct SocketActivationTests {
    private static let app = "org.example.app"

    private func make(_ path: String, _ words: String, prewarm: Int = 0) throws -> TestApp {
        TestApp(
            Self.app, exec: "\(try compileProbe("accept.c")) \(words)", prewarm: prewarm,
            prewarmLines: [
                "[Socket]", "ListenStream=\(path)", "FileDescriptorName=front", "SocketMode=0600",
            ])
    }

    /// Connects, and returns the line with which the app answers.
    private func ask(_ socket: UnixSocket) throws -> String {
        guard try socket.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("nobody answers")
        }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = recv(socket.descriptor.rawValue, &buffer, buffer.count, 0)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    private func connect(_ path: String) throws -> UnixSocket {
        try UnixSocket.connect(to: path, .stream, nonblocking: false)
    }

    @Test(arguments: [0, 1])
    func `the first connection launches the app, with the right LISTEN_PID`(prewarm: Int) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/deep/front"
        let daemon = try TestDaemon(try make(path, "serve", prewarm: prewarm))
        try daemon.awaitPaused(Self.app, count: prewarm)
        let watcher = try daemon.watch()
        let answer = try ask(try connect(path))
        let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
        #expect(launched.launchKind == (prewarm == 0 ? .cold : .prewarmed))
        let summary = try daemon.client().explain(Self.app).lastLaunch
        #expect(summary?.instance == launched.instance && summary?.elapsedUSec == 0)
        let pid = try #require(try daemon.client().instance(launched.instance!).processId)
        #expect(answer == "\(pid) 1 front\n")
        // The app runs and accepts by itself, so no second instance starts.
        #expect(try ask(try connect(path)) == answer)
        let running = try daemon.client().instances(of: Self.app).filter { $0.state == .active }
        #expect(running.count == 1)
    }

    @Test func `a file that a library opens before main does not take the socket's place`()
        throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let program = try compileWithLibrary(source: "\(packageRoot)/Tests/Probes/accept.c")
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: "\(program) serve", prewarm: 1,
                prewarmLines: ["[Socket]", "ListenStream=\(path)", "FileDescriptorName=front"]))
        try daemon.awaitPaused(Self.app)
        let watcher = try daemon.watch()
        #expect(try ask(try connect(path)).hasSuffix(" 1 front\n"))
        let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
        #expect(launched.launchKind == .prewarmed)
    }

    @Test func `a queued connection survives the supervisor`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try make(path, "serve"))
        try daemon.kill()
        let waiting = try connect(path)
        try daemon.start()
        #expect(try ask(waiting).hasSuffix(" 1 front\n"))
    }

    @Test func `a queued connection survives a spawner, and then the supervisor`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let other = "org.example.other"
        let daemon = try TestDaemon(
            try make(path, "serve"), TestApp(other, exec: try compileProbe("behave.c")))
        let spawner = try daemon.spawnerPid
        Glibc.kill(spawner, SIGKILL)
        try Processes.awaitEnd(of: spawner)
        // There is another spawner when it has started an app.
        _ = try daemon.client().wait(daemon.client().launch(other, ["exit", "0"]).instance)
        try daemon.kill()
        let waiting = try connect(path)
        try daemon.start()
        #expect(try ask(waiting).hasSuffix(" 1 front\n"))
    }

    @Test func `the socket of a manifest that is removed while the supervisor is away is closed`()
        throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try make(path, "serve"))
        try daemon.kill()
        unlink("\(daemon.appDirectory)/\(Self.app).app")
        try daemon.start()
        _ = try daemon.client().reload()
        let error = #expect(throws: SystemError.self) { try connect(path) }
        #expect(error?.code == ECONNREFUSED)
    }

    @Test func `an app that never accepts a connection is given up`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try make(path, "leave"))
        let watcher = try daemon.watch()
        let waiting = try connect(path)
        try watcher.next { $0.kind == .failed && $0.app == Self.app }
        #expect(watcher.events.count { $0.kind == .launched } == 5)
        #expect(try daemon.client().explain(Self.app).supervision?.failed?.code == "start_limit")
        withExtendedLifetime(waiting) {}
    }

    @Test func `an address that is already in use is reported, and the app stays`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let other = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let daemon = try TestDaemon(try make(path, "leave"))
        let report = try daemon.client().reload()
        #expect(report.loaded == [Self.app])
        #expect(daemon.log.contains("listening on \(path): bind \(path): "))
        withExtendedLifetime(other) {}
    }

    @Test(arguments: [0, 1])
    func `listening makes an app ready`(prewarm: Int) throws {
        let directory = try TemporaryDirectory()
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("accept.c"), prewarm: prewarm,
                "ReadyOn=listening"))
        try daemon.awaitPaused(Self.app, count: prewarm)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let input = try Pipe()
        let launched = try client.launch(
            Self.app, ["listen", directory.path + "/own"], input: input.readEnd)
        #expect(launched.kind == (prewarm == 0 ? .cold : .prewarmed))
        #expect(try client.instance(launched.instance).state == .launching)
        input.closeWriteEnd()
        try watcher.awaitState(.active, of: launched.instance)
    }

    // MARK: Suspended programs

    private func makeSuspended(_ path: String, _ words: String) throws -> TestApp {
        var app = try make(path, words)
        app.lines = ["SuspendInBackground=yes", "BackgroundGraceSec=100ms"]
        return app
    }

    @Test func `a suspended program is woken by each connection, even by one that waited`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try makeSuspended(path, "serve"))
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app) { $0.isBackground = true }.instance
        for _ in 0..<2 {
            try watcher.awaitState(.suspended, of: instance)
            #expect(try ask(try connect(path)).hasSuffix(" 1 front\n"))
        }
        // The next daemon also watches, and handles a connection that came in the meantime.
        try watcher.awaitState(.suspended, of: instance)
        try daemon.kill()
        let waiting = try connect(path)
        try daemon.start()
        #expect(try ask(waiting).hasSuffix(" 1 front\n"))
        #expect(try daemon.client().instances(of: Self.app).count == 1)
    }

    /// The second daemon has its own network, like a service with `PrivateNetwork=`. Connections
    /// that the app has accepted then belong to another network than the daemon's.
    @Test(arguments: [[], ["/usr/bin/unshare", "--net"]])
    func `a program is not suspended while a client is connected`(wrapper: [String]) throws {
        try requireOrSkip(wrapper.isEmpty || getuid() == 0, "only root can make a network")
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try makeSuspended(path, "hold"))
        try daemon.kill()
        daemon.wrapper = wrapper
        try daemon.start()
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app) { $0.isBackground = true }.instance
        try watcher.awaitState(.suspended, of: instance)
        let client = try connect(path)
        try watcher.awaitState(.background, of: instance)
        #expect(throws: (any Error).self) { try watcher.next(milliseconds: 1500) }
        #expect(try daemon.client().instance(instance).state == .background)
        shutdown(client.descriptor.rawValue, CInt(SHUT_RDWR))
        try watcher.awaitState(.suspended, of: instance)
    }

    @Test func `a program that never accepts is woken once, and no longer suspended`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try makeSuspended(path, "ignore"))
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(Self.app) { $0.isBackground = true }.instance
        try watcher.awaitState(.suspended, of: instance)
        let waiting = try connect(path)
        try watcher.awaitState(.background, of: instance)
        let count = watcher.events.count
        #expect(throws: (any Error).self) { try watcher.next(milliseconds: 1500) }
        #expect(watcher.events.count == count)
        withExtendedLifetime(waiting) {}
    }
}
