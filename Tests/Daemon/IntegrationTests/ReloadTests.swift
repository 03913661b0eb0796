import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Other work goes on while many manifests are read.
@Suite struct ReloadTests {
    private static let app = "org.example.reloaded"
    private static let count = 2000

    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        for number in 0..<Self.count {
            try daemon.directory.write(
                "[App]\nExec=/bin/true\n[Prewarm]\nWhen=never\n",
                to: "apps/org.example.many\(number).app")
        }
        return daemon
    }

    private func isReadable(_ client: TestClient) throws -> Bool {
        var entry = [PollEntry(client.descriptor, CInt(POLLIN))]
        return try PollEntry.wait(&entry, milliseconds: 0) > 0
    }

    @Test func `a call is answered while thousands of manifests are read`() throws {
        let daemon = try daemon()
        let (patient, hasty) = (try daemon.client(), try daemon.client())
        try patient.send(.reload)
        let launched = try hasty.launch(Self.app, ["exit", "3"])
        #expect(try !isReadable(patient), "the launch was answered after the reload")
        #expect(try hasty.wait(launched.instance).status == 3)
        guard case .reloaded(let report) = try patient.reply(to: .reload) else {
            throw TestError("another answer")
        }
        #expect(report.loaded.count == Self.count + 1)
        #expect(report.failed.isEmpty)
    }

    @Test func `a reload during another reload includes the changes made since`() throws {
        let daemon = try daemon()
        let clients = try (0..<4).map { _ in try daemon.client() }
        var expected = Self.count + 1
        for (number, client) in clients.enumerated() {
            if number > 0 {
                unlink("\(daemon.appDirectory)/org.example.many\(number).app")
                expected -= 1
            }
            try client.send(.reload)
        }
        guard case .reloaded(let last) = try #require(clients.last).reply(to: .reload) else {
            throw TestError("another answer")
        }
        #expect(last.loaded.count == expected)
        for client in clients.dropLast() { _ = try client.reply(to: .reload) }
    }

    @Test func `a reload says what it ignores, and the log says a fault once`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        try daemon.directory.write(
            "[App]\nExec=/bin/true\n\n[Prewram]\nWhen=boot\n", to: "apps/org.example.typo.app")
        try daemon.directory.write(
            "[App]\nExce=/bin/true\n", to: "apps/org.example.faulty.app")
        let report = try client.reload()
        #expect(report.loaded.contains("org.example.typo"))
        let warning = try #require(report.warnings.first { $0.file.contains("typo") })
        #expect(warning.line == 4 && warning.message.contains("[Prewram]"), "\(warning)")
        for _ in 1...3 {
            #expect(try client.reload().failed.contains { $0.file.contains("faulty") })
        }
        let said = daemon.log.split(separator: "org.example.faulty.app:1:").count - 1
        #expect(said == 1, "\(daemon.log)")
        #expect(!daemon.log.contains("warning: warning"))
    }

    @Test func `an app that was refused while it ran ends by its name`() throws {
        let exec = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: exec))
        let client = try daemon.client()
        let launched = try client.launch(Self.app, ["wait-forever"])
        try daemon.directory.write("[App]\nExce=\(exec)\n", to: "apps/\(Self.app).app")
        #expect(try client.reload().failed.count == 1)
        guard case .listed(let apps) = try client.call(.listAll) else {
            throw TestError("another reply")
        }
        let absent = try #require(apps.first { $0.identifier == Self.app })
        #expect(absent.refusal != nil && absent.runningCount == 1)
        guard case .status(let instances) = try client.call(.status(.app(Self.app))) else {
            throw TestError("another reply")
        }
        #expect(instances.map(\.instance) == [launched.instance])
        _ = try client.call(.transition(.terminate, .app(Self.app)))
        #expect(try client.wait(launched.instance).signal == SIGTERM)
    }

    @Test func `what an app that is refused at a start has learned ends with its manifest`() throws
    {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        try daemon.terminate()
        let folder = daemon.directory.path + "/state/learned/12345"
        for path in [daemon.directory.path + "/state/learned", folder] { mkdir(path, 0o700) }
        let lists = ["imports", "libraries"].map { "\(folder)/\(Self.app).\($0)" }
        for list in lists {
            let file = open(list, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            #expect(file >= 0)
            close(file)
        }
        try daemon.directory.write("[App]\nExce=x\n", to: "apps/\(Self.app).app")
        try daemon.start()
        let client = try daemon.client()
        #expect(try client.reload().failed.count == 1)
        #expect(lists.allSatisfy { access($0, F_OK) == 0 })
        try daemon.remove(Self.app)
        _ = try client.reload()
        #expect(lists.allSatisfy { access($0, F_OK) != 0 })
    }

    @Test func `a force quit outlives an error in the manifest and a restart`() throws {
        let app = TestApp(Self.app, exec: try compileProbe("behave.c"))
        let daemon = try TestDaemon(app)
        let client = try daemon.client()
        try client.change(.kill, client.launch(Self.app, ["wait-forever"]).instance)
        let expected = try #require(try refusal(of: Self.app, client))
        try daemon.directory.write("[App]\nExce=x\n", to: "apps/\(Self.app).app")
        #expect(try client.reload().failed.count == 1)
        try daemon.kill()
        try daemon.start()
        try daemon.install(app)
        let next = try daemon.client()
        #expect(try next.reload().failed.isEmpty)
        #expect(try refusal(of: Self.app, next) == expected)
        try daemon.remove(Self.app)
        _ = try next.reload()
        try daemon.install(app)
        _ = try next.reload()
        #expect(try refusal(of: Self.app, next) == nil)
    }

    /// The error of a launch in the background, which a force quit refuses.
    private func refusal(of app: String, _ client: TestClient) throws -> ControlError? {
        do {
            _ = try client.launch(app, ["exit", "0"]) { $0.isBackground = true }
            return nil
        } catch { return error as? ControlError }
    }

    @Test func `an app stays installed beside a faulty or masked file with its name`() throws {
        let daemon = try TestDaemon([])
        try daemon.directory.write(
            "[App]\nIdentifier=\(Self.app)\nExec=/bin/true\n", to: "apps/org.example.own.app")
        let client = try daemon.client()
        let namesake = "\(daemon.appDirectory)/\(Self.app).app"
        for isMasked in [false, true] {
            if isMasked {
                unlink(namesake)
                #expect(symlink("/dev/null", namesake) == 0)
            } else {
                try daemon.directory.write("[App]\nExce=x\n", to: "apps/\(Self.app).app")
            }
            for _ in 0..<2 {
                #expect(try client.reload().loaded == [Self.app])
                #expect(try client.run(Self.app, []).exit.status == 0)
            }
        }
    }

    @Test func `a force quit outlives a folder that cannot be read`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        try client.change(.kill, client.launch(Self.app, ["wait-forever"]).instance)
        let expected = try #require(try refusal(of: Self.app, client))
        let (folder, aside) = (daemon.appDirectory, daemon.appDirectory + "-aside")
        #expect(rename(folder, aside) == 0 && symlink(folder, folder) == 0)
        #expect(try client.reload().loaded == [])
        #expect(unlink(folder) == 0 && rename(aside, folder) == 0)
        #expect(try client.reload().loaded == [Self.app])
        #expect(try refusal(of: Self.app, client) == expected)
    }

    @Test func `what an app has learned ends if its manifest goes unseen`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        try daemon.terminate()
        let learned = daemon.directory.path + "/state/learned/12345"
        for path in [daemon.directory.path + "/state/learned", learned] { mkdir(path, 0o700) }
        let list = "\(learned)/\(Self.app).imports"
        let file = open(list, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(file >= 0)
        close(file)
        try daemon.start()
        let client = try daemon.client()
        let (folder, aside) = (daemon.appDirectory, daemon.appDirectory + "-aside")
        #expect(rename(folder, aside) == 0 && symlink(folder, folder) == 0)
        #expect(try client.reload().loaded == [])
        #expect(access(list, F_OK) == 0)
        #expect(unlink("\(aside)/\(Self.app).app") == 0)
        #expect(unlink(folder) == 0 && rename(aside, folder) == 0)
        #expect(try client.reload().loaded == [])
        #expect(access(list, F_OK) != 0)
    }

    @Test func `a force quit of a template's instance outlives the next call`() throws {
        let daemon = try TestDaemon([])
        let program = try compileProbe("behave.c")
        try daemon.directory.write("[App]\nExec=\(program)\n", to: "apps/org.example.t@.app")
        let client = try daemon.client()
        _ = try client.reload()
        try client.change(.kill, client.launch("org.example.t@x", ["wait-forever"]).instance)
        let expected = try #require(try refusal(of: "org.example.t@x", client))
        _ = try client.list()
        #expect(try refusal(of: "org.example.t@x", client) == expected)
    }

    @Test func `a reload goes on if its client leaves`() throws {
        let daemon = try daemon()
        let watcher = try daemon.watch()
        var client: TestClient? = try daemon.client()
        try client?.send(.reload)
        client = nil
        try watcher.next { $0.kind == .appsChanged }
        #expect(try daemon.client().list().count == Self.count + 1)
    }
}
