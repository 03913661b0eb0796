import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// The pause before application-main, and starting without it.
@Suite struct PauseTests {
    @Test func `a prewarm runs main, and stops before ApplicationMain with one thread`() throws {
        let app = try AppProcess("both", .prewarmed)
        let pause = try app.awaitPause()
        #expect(pause.reason == .applicationMain)
        #expect(pause.threadCount == 1)
        #expect(KernelObjects.threadCount(of: app.child.pid) == 1)
        #expect(pause.instant > 0)
        try app.send(.ping(cookie: 9))
        #expect(try app.receive() == .pong(cookie: 9))
        try app.send(.quit)
        #expect(try app.child.waitForExit() == .status(0))
        #expect(app.lines() == ["main"])
    }

    @Test func `a paused app whose daemon ends exits without ApplicationMain`() throws {
        let app = try AppProcess("both", .prewarmed)
        try app.awaitPause()
        shutdown(app.channel, Int32(SHUT_RDWR))
        #expect(try app.child.waitForExit() == .status(0))
        #expect(app.lines() == ["main"])
    }

    @Test func `an app that never reaches ApplicationMain closes its channel`() throws {
        let app = try AppProcess("exit", .prewarmed)
        #expect(try app.receive() == nil)
        #expect(try app.child.waitForExit() == .status(3))
    }

    @Test func `nothing happens to an app before it is launched`() throws {
        let app = try AppProcess("both", .prewarmed)
        try app.awaitPause()
        try app.send(.lifecycle(.didBecomeActive, cookie: 5))
        #expect(try app.receive() == .error(errno: EPROTO, cookie: 5))
        try app.send(.quit)
        try app.child.waitForExit()
        #expect(app.lines() == ["main"])
    }

    @Test(arguments: AppProcess.Start.allCases)
    func
        `whether it was prewarmed, and why it was launched, stays known after the variable has gone`(
            start: AppProcess.Start
        ) throws
    {
        let app = try AppProcess("busy", start)
        try app.launch(
            AppLaunch(cookie: 1, reason: .quickAction), start, environment: ["LAUNCHED=1"])
        try app.awaitAcknowledgement(1)
        guard case .report(.openURL("https://example.org", let request))? = try last(of: app)
        else { throw TestError("no request to open") }
        try app.send(.answer(request: request, .done))
        try app.tell(.didBecomeActive)
        // Another thread resumes the task that awaits the answer, at a time of its own.
        while !app.steps.contains(.afterLaunch) || !app.hasDrawn {
            try #require(try app.receive() != nil, "the app ended")
        }
        let isPrewarmed = start == .prewarmed
        let lines = try app.end()
        #expect(
            lines.filter { !$0.hasPrefix("afterLaunch") && $0 != "opened" } == [
                "main",
                #"arguments \#(isPrewarmed ? #"["launched"]"# : "[]") true prewarm=\#(isPrewarmed ? "1" : "-")"#,
                "channel in environment: false", "task prewarm=-", "off the main thread: true",
                "back on the main thread: true",
                "prewarmed \(isPrewarmed) because quickAction", "didBecomeActive active",
                "willTerminate",
            ])
        #expect(lines.contains("afterLaunch active"))
        #expect(lines.contains("opened"))
    }

    /// Reads until the app asks for something.
    private func last(of app: AppProcess) throws -> AppMessage? {
        while true {
            let message = try app.receive()
            if case .report(.openURL) = message { return message }
            if message == nil { return nil }
        }
    }

    @Test func `a refused request throws, and so does one whose daemon ends`() throws {
        for goes in [false, true] {
            let app = try AppProcess("busy", .cold)
            try app.launch(AppLaunch(cookie: 1, flags: []), .cold)
            guard case .report(.openURL(_, let request))? = try last(of: app) else {
                throw TestError("no request to open")
            }
            if goes {
                shutdown(app.channel, Int32(SHUT_RDWR))
            } else {
                try app.send(.answer(request: request, .refused(code: 2, reason: "no app for it")))
            }
            let expected = goes ? "not opened: greenroomd is gone" : "not opened: no app for it"
            #expect(try app.awaitLine(expected))
            app.child.kill(SIGKILL)
        }
    }

    @Test func `a callback that keeps the main thread over 250 ms is reported by name`() throws {
        let app = try AppProcess("busy", .cold, environment: ["PROBE_SLOW=1"])
        try app.launch(AppLaunch(cookie: 1), .cold)
        try app.awaitAcknowledgement(1)
        let overruns = app.reports.compactMap {
            if case .callbackOverran(let name, let duration) = $0 { (name, duration) } else { nil }
        }
        // On a busy machine, other callbacks may also take that long.
        let meant = overruns.count { $0.0 == "application(_:didFinishLaunchingWithOptions:)" }
        #expect(meant == 1)
        #expect(overruns.allSatisfy { $0.1 > .milliseconds(250) })
    }

    @Test func `an app with its own event loop watches one descriptor`() throws {
        let app = try AppProcess("loop", .prewarmed)
        try app.launch(AppLaunch(cookie: 1), .prewarmed)
        try app.awaitAcknowledgement(1)
        try app.tell(.didBecomeActive)
        #expect(
            try app.end().suffix(3) == [
                "didFinishLaunchingNotification []", "didBecomeActive active", "willTerminate",
            ])
    }

    @Test func `an app that is started without the daemon is launched into the foreground`() throws
    {
        func lines(_ delegate: String, until last: String) throws -> [String] {
            let pipe = try Pipe()
            let program = try builtProgram("application-kit-probe")
            var request = ChildRequest(
                program,
                environment: ["PROBE_DELEGATE=\(delegate)", "ActivePrewarm=1"]
                    + ChildRequest.sanitizerOptions)
            request.descriptors[1] = pipe.writeEnd
            let child = try ChildProcess(request)
            pipe.closeWriteEnd()
            var lines: [String] = []
            while let line = readLine(from: pipe.readEnd) {
                lines.append(line)
                if line == last { child.kill(SIGKILL) }
            }
            return lines
        }
        #expect(
            try lines("both", until: "didBecomeActive active") == [
                "main", "delegate", "willFinishLaunching [] inactive",
                "didFinishLaunching [] inactive", "didFinishLaunchingNotification []",
                "didBecomeActive active",
            ])
        let active = "1 didBecomeActive foregroundActive app active"
        #expect(
            try lines("scenes", until: active) == [
                "main", "willFinishLaunching nil inactive", "didFinishLaunching nil inactive",
                "configuration 1 application [] inactive", "1 willConnect unattached app inactive",
                "1 willEnterForeground unattached app inactive", active,
            ])
    }

    @Test func `an unknown message is answered and changes nothing`() throws {
        let app = try AppProcess("both", .cold)
        try app.launch(AppLaunch(cookie: 1), .cold)
        try app.awaitAcknowledgement(1)
        var datagram = try DaemonMessage.ping(cookie: 8).encoded().datagram
        datagram[6] = 60
        #expect(cts_send(app.channel, datagram, datagram.count, nil, 0) == datagram.count)
        #expect(try app.receive() == .error(errno: ENOSYS, cookie: 8))
        try app.send(.event(.launch(AppLaunch(cookie: 9))))
        #expect(try app.receive() == .error(errno: EPROTO, cookie: 9))
        try app.tell(.didBecomeActive)
        #expect(try app.end().suffix(2) == ["didBecomeActive active", "willTerminate"])
    }

    @Test func `a launch with many strings arrives in a descriptor`() throws {
        let app = try AppProcess("busy", .prewarmed)
        try app.awaitPause()
        try app.send(.event(.launch(AppLaunch(cookie: 1))))
        let long = String(repeating: "x", count: 100_000)
        let go = GoMessage(
            arguments: try StringList(["a", "b", "c"]),
            environment: try StringList(["LONG=\(long)"]),
            cookie: 2)
        let encoded = try DaemonMessage.go(go).encoded()
        let strings = try #require(encoded.descriptorStrings)
        let memory = cts_sealed_memory(strings, strings.count)
        defer { close(memory) }
        let sent = cts_send(
            app.channel, encoded.datagram, encoded.datagram.count, [memory], 1)
        #expect(sent == encoded.datagram.count)
        #expect(try app.receive() == .started(cookie: 2))
        try app.awaitAcknowledgement(1)
        #expect(try app.end().contains(#"arguments ["b", "c"] true prewarm=1"#))
    }

    @Test func `the app gets the descriptors, the directory and the file mode mask of its launch`()
        throws
    {
        let app = try AppProcess("both", .prewarmed)
        try app.awaitPause()
        let pipe = try Pipe()
        let directory = cts_open_directory("/usr")
        defer { close(directory) }
        try app.send(.event(.launch(AppLaunch(cookie: 1))))
        let go = GoMessage(
            arguments: try StringList(["a"]), environment: StringList(), umask: 0o27,
            roles: [.place(1), .place(0), .workingDirectory], cookie: 2)
        try app.send(.go(go), descriptors: [pipe.writeEnd, pipe.readEnd, directory])
        pipe.closeWriteEnd()
        try app.awaitAcknowledgement(1)
        #expect(access("/proc/\(app.child.pid)/cwd/include", R_OK) == 0)
        let status = String(
            decoding: try readFile("/proc/\(app.child.pid)/status"), as: UTF8.self)
        #expect(status.contains("Umask:\t0027"))
        try app.tell(.willTerminate)
        let output = String(decoding: readToEnd(pipe.readEnd), as: UTF8.self)
        #expect(output.hasPrefix("delegate\n"))
        #expect(app.lines() == ["main"])
    }
}
