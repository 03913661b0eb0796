import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Background tasks of a real app, through the real daemon.
@Suite struct `Background tasks` {
    /// The names of the open tasks.
    private func open(_ kit: KitDaemon) throws -> [String] {
        try kit.daemon.client().instance(kit.instance).backgroundTasks ?? []
    }

    /// Waits for the daemon: the app says that it has begun a task before the daemon has heard of
    /// it, which no event reports.
    private func awaitOpen(_ names: [String], _ kit: KitDaemon) throws {
        try Processes.wait("the open tasks are not \(names)") { try open(kit) == names }
    }

    @Test(arguments: KitApp.starts)
    func `an open task keeps the app from being suspended until it has ended`(prewarm: Int) throws {
        let kit = try KitDaemon(.tasks(prewarm: prewarm))
        var second = KitApp("org.example.second")
        second.lines = ["BackgroundGraceSec=100ms"]
        try second.install(in: kit.daemon)
        let client = try kit.daemon.client()
        _ = try client.reload()
        try kit.launch()
        try kit.tell("begin upload", "begin upload valid")
        try kit.tell("remaining", "remaining unlimited")
        let watcher = try kit.daemon.watch()
        try kit.change(.background)
        // Another app with the same grace enters the background later, and is suspended.
        let other = try client.launch(second.identifier) { $0.isBackground = true }.instance
        try kit.daemon.awaitState(.suspended, of: other)
        let status = try client.instance(kit.instance)
        #expect(status.state == .background)
        #expect(status.backgroundTasks == ["upload"])
        #expect(status.backgroundRemainingUSec ?? 0 > 0)
        try kit.tell("remaining", "remaining limited")
        try kit.tell("end", "end upload")
        try watcher.awaitState(.suspended, of: kit.instance)
        #expect(try open(kit).isEmpty)
    }

    @Test
    func `handlers are called before the time runs out, and an app that ends its tasks lives on`()
        throws
    {
        let kit = try KitDaemon(.tasks(), configuration: ["BackgroundTaskSec=6"])
        try kit.launch()
        try kit.tell("begin one", "begin one valid")
        try kit.tell("begin two", "begin two valid")
        try awaitOpen(["one", "two"], kit)
        let watcher = try kit.daemon.watch()
        try kit.change(.background)
        try watcher.next { $0.kind == .backgroundTimeExpiring && $0.instance == kit.instance }
        try watcher.awaitState(.suspended, of: kit.instance)
        #expect(kit.said.suffix(4) == ["expired one", "end one", "expired two", "end two"])
        // In the foreground, the app has unlimited time again.
        try kit.change(.foreground)
        try kit.tell("begin three", "begin three valid")
    }

    @Test func `an app that does not end its task is ended, with its own reason`() throws {
        let kit = try KitDaemon(
            .tasks(heeds: false), configuration: ["BackgroundTaskSec=15"])
        try kit.launch()
        try kit.tell("begin upload", "begin upload valid")
        try kit.change(.background)
        let exit = try kit.daemon.client().wait(kit.instance)
        #expect(exit.reason == .backgroundTaskTimeout)
        #expect(exit.signal == SIGKILL)
        #expect(kit.said.contains("expired upload"))
        // No new task begins after the time has run out.
        #expect(kit.said.contains("late is invalid"))
        #expect(try kit.daemon.client().instance(kit.instance).exit?.lastState == .background)
    }

    @Test func `a task has no time limit in the foreground, and has one in the background`() throws
    {
        let kit = try KitDaemon(.tasks(), configuration: ["BackgroundTaskSec=20"])
        try kit.launch()
        try kit.tell("begin upload", "begin upload valid")
        let client = try kit.daemon.client()
        #expect(try client.instance(kit.instance).backgroundRemainingUSec == nil)
        try kit.change(.background)
        #expect(try client.instance(kit.instance).backgroundRemainingUSec != nil)
        try kit.tell("remaining", "remaining limited")
        try kit.change(.foreground)
        #expect(try client.instance(kit.instance).backgroundRemainingUSec == nil)
        try kit.tell("remaining", "remaining unlimited")
    }

    @Test func `a task that is begun in the background keeps the app there`() throws {
        let kit = try KitDaemon(.tasks(grace: "20"))
        try kit.launch(inBackground: true)
        try kit.tell("begin upload", "begin upload valid")
        // The daemon tells the app its time when it has heard of the task.
        try awaitOpen(["upload"], kit)
        try kit.tell("remaining", "remaining limited")
        let watcher = try kit.daemon.watch()
        let client = try kit.daemon.client()
        // A request to suspend waits until the task has ended.
        try client.send(.transition(.suspend, .instance(kit.instance)))
        try kit.daemon.await("the task, which was not disturbed") { client in
            try client.instance(kit.instance).state == .background ? true : nil
        }
        try kit.tell("end", "end upload")
        try watcher.awaitState(.suspended, of: kit.instance)
    }

    @Test func `background time goes on while the supervisor is away`() throws {
        let kit = try KitDaemon(
            .tasks(heeds: false), configuration: ["BackgroundTaskSec=6"])
        try kit.launch()
        try kit.tell("begin upload", "begin upload valid")
        try kit.change(.background)
        let before = try #require(
            try kit.daemon.client().instance(kit.instance).backgroundRemainingUSec)
        try kit.daemon.kill()
        try kit.daemon.start()
        let status = try kit.daemon.client().instance(kit.instance)
        #expect(status.state == .background)
        #expect(status.backgroundTasks?.count == 1)
        #expect(status.backgroundRemainingUSec ?? .max < before)
        let exit = try kit.daemon.client().wait(kit.instance)
        #expect(exit.reason == .backgroundTaskTimeout)
        #expect(kit.said.count { $0 == "expired upload" } == 1)
    }

    @Test func `an administrator can let the time end at once`() throws {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        try kit.tell("begin upload", "begin upload valid")
        try kit.change(.background)
        let watcher = try kit.daemon.watch()
        try kit.expireTask()
        try kit.hear("end upload")
        try watcher.awaitState(.suspended, of: kit.instance)
    }
}
