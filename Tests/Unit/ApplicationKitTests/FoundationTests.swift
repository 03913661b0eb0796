import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// An app that links Foundation.
@Suite struct FoundationTests {
    private func app(
        _ start: AppProcess.Start, _ content: AppContent = AppContent(),
        environment: [String] = []
    ) throws -> AppProcess {
        let app = try AppProcess(
            "", start, program: "foundation-probe", environment: environment)
        var launch = AppLaunch(cookie: 1, flags: [.foreground])
        launch.content = content
        try app.launch(launch, start, environment: environment)
        try app.awaitAcknowledgement(1)
        try app.tell(.didBecomeActive)
        return app
    }

    @Test(arguments: AppProcess.Start.allCases)
    func `timers, the run loop, the main queue and tasks run under ApplicationMain`(
        start: AppProcess.Start
    ) throws {
        let app = try app(start)
        var expected: Set = [
            "timer", "common timer", "performed", "performed from a thread", "dispatched",
            "dispatched later", "slept", "active", "put off",
        ]
        while !expected.isEmpty {
            let line = try #require(readLine(from: app.output.readEnd))
            #expect(expected.remove(line) != nil, "\(line) twice")
        }
        #expect(try app.end() == ["end"])
    }

    @Test func `an app that waits in Foundation's run loop does not wake without a reason`() throws
    {
        let app = try app(.cold, environment: ["PROBE_IDLE=1"])
        try app.tell(.didReceiveMemoryWarning)
        // The app goes to sleep after its acknowledgement.
        var before = 0
        try Patience.wait("the app is always busy") {
            before = try wakeups(of: app).count
            poll(nil, 0, 10)
            return try wakeups(of: app) == (before, true)
        }
        // The app says nothing for half a second.
        var entry = pollfd(fd: app.channel, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 500) == 0)
        #expect(try wakeups(of: app).count <= before)
        try app.tell(.didReceiveMemoryWarning)
        #expect(try wakeups(of: app).count <= before + 2)
        _ = try app.end()
    }

    /// How often a thread of the app has gone to sleep (proc_pid_status(5)), and whether all sleep.
    /// A thread that waits for a processor does not.
    private func wakeups(of app: AppProcess) throws -> (count: Int, allSleep: Bool) {
        var (sum, allSleep) = (0, true)
        let folder = "/proc/\(app.child.pid)/task"
        for thread in try names(in: folder) {
            // A thread may have ended in the meantime.
            guard let bytes = try? readFile("\(folder)/\(thread)/status") else { continue }
            let status = String(decoding: bytes, as: UTF8.self)
            let line = status.split(separator: "\n").first {
                $0.hasPrefix("voluntary_ctxt_switches:")
            }
            sum += line.flatMap { Int($0.split(separator: "\t").last ?? "") } ?? 0
            if !status.contains("\nState:\tS") { allSleep = false }
        }
        return (sum, allSleep)
    }

    private func names(in folder: String) throws -> [String] {
        guard let directory = opendir(folder) else { throw TestError("no \(folder)") }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    @Test(arguments: AppProcess.Start.allCases)
    func `the launch options and the delegate have URLs of Foundation's type`(
        start: AppProcess.Start
    ) throws {
        var content = AppContent()
        content.urls = [.init("notes://one/two")]
        content.urls[0].sourceApplication = "org.example.mail"
        let app = try app(start, content, environment: ["PROBE_IDLE=1"])
        #expect(
            try app.end() == [
                "launched for one", "open one from org.example.mail", "active", "end",
            ])
    }
}
