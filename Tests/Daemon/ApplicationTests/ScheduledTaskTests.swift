import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Scheduled work of a real app, through the real daemon.
@Suite struct `Scheduled work` {
    /// The code with which a call is refused.
    private func refusal(_ body: () throws -> Void) throws -> String {
        do {
            try body()
            throw TestError("not refused")
        } catch let error as ControlError {
            guard case .refused(let code, _) = error else { throw error }
            return code
        }
    }

    @Test func `a refresh that nothing holds back is run at once, and only once`() throws {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        let watcher = try kit.daemon.watch()
        try kit.tell("submit refresh refresh", "submitted refresh")
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
        #expect(kit.said.contains("run refresh AppRefreshTask active"))
        #expect(try kit.tasks().isEmpty)
        #expect(kit.said.contains("registered again: false"))
        try kit.tell("register", "registered late: false")
    }

    @Test(arguments: KitApp.starts)
    func `an app that does not run is launched in the background for a task, then suspended`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(.tasks(prewarm: prewarm))
        try kit.launch()
        try kit.tell("submit refresh refresh in=3600", "submitted refresh")
        try kit.change(.kill)
        let waiting = try #require(try kit.tasks().first)
        #expect(waiting.state == .pending && waiting.hold?.code == "earliest_begin")
        if prewarm > 0 { try kit.daemon.awaitPaused(kit.app.identifier) }
        let watcher = try kit.daemon.watch()
        let instance = try kit.runTask("refresh").instance
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
        try watcher.awaitState(.suspended, of: instance)
        try kit.adopt(instance)
        #expect(kit.said.contains("launched because scheduledTask background"))
        #expect(kit.said.contains("run refresh AppRefreshTask background"))
        let kind = try kit.daemon.client().instance(instance).kind
        #expect(kind == (prewarm > 0 ? .prewarmed : .cold))
        #expect(try kit.tasks().isEmpty)
    }

    @Test func `a suspended app is thawed for a task and suspended again`() throws {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        try kit.tell("submit processing clean in=3600", "submitted clean")
        try kit.change(.suspend)
        let watcher = try kit.daemon.watch()
        #expect(try kit.runTask("clean").instance == kit.instance)
        #expect(try watcher.awaitOutcome("clean") == .succeeded)
        try watcher.awaitState(.suspended, of: kit.instance)
        #expect(kit.said.contains("run clean ProcessingTask background"))
    }

    @Test func `a task is run when its earliest time has come`() throws {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        let watcher = try kit.daemon.watch()
        try kit.tell("submit refresh refresh in=2", "submitted refresh")
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
    }

    @Test func `processing waits for power, a network and an idle machine`() throws {
        let kit = try KitDaemon(.tasks(), configuration: ["TaskIdleSec=0"])
        let daemon = kit.daemon
        let battery = "sys/class/power_supply/BAT0/"
        try daemon.describeMachine(battery + "type", "Battery\n")
        try daemon.describeMachine(battery + "capacity", "80\n")
        try daemon.describeMachine(battery + "status", "Discharging\n")
        try daemon.describeMachine("proc/loadavg", "1000.00 0.00 0.00 1/1 1\n")
        try kit.launch()
        let watcher = try daemon.watch()
        try kit.tell("submit processing clean power network", "submitted clean")
        #expect(try kit.tasks().first?.hold?.code == "no_external_power")
        try daemon.describeMachine(battery + "status", "Charging\n")
        // A busy machine reads the files slowly, and then the result is reused for a while.
        func awaitHold(_ code: String, after former: String) throws {
            try Processes.wait("the task is still held: \(former)") {
                try kit.tasks().first?.hold?.code != former
            }
            #expect(try kit.tasks().first?.hold?.code == code)
        }
        try awaitHold("no_network", after: "no_external_power")
        try daemon.describeMachine(
            "proc/1/net/route",
            "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                + "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n")
        try awaitHold("high_load", after: "no_network")
        try daemon.describeMachine("proc/loadavg", "0.00 0.00 0.00 1/1 1\n")
        // The daemon checks the conditions once a minute and at a reload.
        _ = try daemon.client().reload()
        #expect(try watcher.awaitOutcome("clean") == .succeeded)
    }

    @Test func `processing waits while apps are in use, and every task while memory is short`()
        throws
    {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        try kit.tell("submit processing clean", "submitted clean")
        #expect(try kit.tasks().first?.hold?.code == "in_use")
        _ = try kit.daemon.client().call(.debugPressure(.warning))
        try kit.tell("submit refresh refresh", "submitted refresh")
        let refresh = try kit.tasks().first { $0.identifier == "refresh" }
        #expect(refresh?.hold?.code == "memory_pressure")
        let watcher = try kit.daemon.watch()
        _ = try kit.daemon.client().call(.debugPressure(.none))
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
    }

    @Test
    func `the handler is called when the time runs out, and an app that completes is not ended`()
        throws
    {
        let kit = try KitDaemon(.tasks(run: "wait"), configuration: ["AppRefreshTaskSec=6"])
        try kit.launch(inBackground: true)
        let watcher = try kit.daemon.watch()
        try kit.tell("submit refresh refresh", "submitted refresh")
        #expect(try watcher.awaitOutcome("refresh") == .failed)
        #expect(kit.said.suffix(1) == ["task expired"])
        try watcher.awaitState(.suspended, of: kit.instance)
    }

    @Test func `a background app that does not complete its task in time is ended`() throws {
        let kit = try KitDaemon(.tasks(run: "ignore"))
        try kit.launch(inBackground: true)
        try kit.tell("submit refresh refresh in=3600", "submitted refresh")
        let watcher = try kit.daemon.watch()
        try kit.runTask("refresh")
        #expect(try refusal { try kit.runTask("refresh") } == "task_runs")
        try kit.expireTask()
        #expect(try watcher.awaitOutcome("refresh") == .expired)
        let exit = try kit.daemon.client().wait(kit.instance)
        #expect(exit.reason == .backgroundTaskTimeout)
        #expect(kit.said.contains("task expired"))
    }

    @Test func `pending tasks are limited, must be named by the manifest, and can be cancelled`()
        throws
    {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        try kit.tell("submit refresh refresh in=3600", "submitted refresh")
        try kit.tell("submit refresh other in=3600", "refused other: tooManyPendingTaskRequests")
        for number in 1...10 {
            try kit.tell("submit processing work\(number) in=3600", "submitted work\(number)")
        }
        try kit.tell(
            "submit processing work11 in=3600", "refused work11: tooManyPendingTaskRequests")
        // The same request replaces the pending one.
        try kit.tell("submit processing work10 in=7200")
        try kit.tell("submit processing undeclared", "refused undeclared: notPermitted")
        #expect(try kit.tasks().count == 11)
        #expect(try refusal { try kit.runTask("undeclared") } == "no_such_task")
        // The answer comes after the app's earlier reports.
        try kit.tell("cancel work3")
        try kit.tell("submit processing nobodys", "refused nobodys: notPermitted")
        #expect(try kit.tasks().count == 10)
        try kit.tell("cancel")
        try kit.tell("submit processing others", "refused others: notPermitted")
        #expect(try kit.tasks().isEmpty)
        try kit.tell("submit processing clean in=60", "submitted clean")
        try kit.tell("pending", #"pending ["ProcessingTaskRequest clean"]"#)
    }

    @Test func `a pending task survives a reboot`() throws {
        let kit = try KitDaemon(.tasks())
        try kit.launch()
        try kit.tell("submit processing clean in=3600 power network", "submitted clean")
        try kit.tell("submit refresh refresh in=3600", "submitted refresh")
        let before = try kit.tasks()
        _ = try kit.daemon.terminate()
        try kit.daemon.forgetBoot()
        try kit.daemon.start()
        #expect(try kit.tasks().map(\.identifier) == ["clean", "refresh"])
        #expect(
            try kit.tasks().map(\.earliestTimestampUSec) == before.map(\.earliestTimestampUSec))
        #expect(try kit.tasks()[0].requiresExternalPower && kit.tasks()[0].requiresNetwork)
        let watcher = try kit.daemon.watch()
        try kit.runTask("clean")
        #expect(try watcher.awaitOutcome("clean") == .succeeded)
        #expect(try kit.tasks().map(\.identifier) == ["refresh"])
    }

    @Test func `a run goes on while the supervisor is away, and the app is told to begin it once`()
        throws
    {
        let kit = try KitDaemon(.tasks(run: "wait"))
        try kit.launch(inBackground: true)
        try kit.tell("submit refresh refresh in=3600", "submitted refresh")
        try kit.runTask("refresh")
        try kit.hear("run refresh AppRefreshTask background")
        try kit.daemon.kill()
        try kit.daemon.start()
        let task = try #require(try kit.tasks().first)
        #expect(task.state == .running && task.instance == kit.instance)
        #expect(task.remainingUSec ?? 0 > 0)
        let watcher = try kit.daemon.watch()
        try kit.tell("complete true")
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
        #expect(kit.said.count { $0.hasPrefix("run ") } == 1)
        try watcher.awaitState(.suspended, of: kit.instance)
    }

    @Test func `only one task is run at a time, even if several apps have one`() throws {
        let kit = try KitDaemon(.tasks(run: "wait"))
        try kit.launch(inBackground: true)
        let watcher = try kit.daemon.watch()
        try kit.tell("submit refresh refresh", "submitted refresh")
        try kit.hear("run refresh AppRefreshTask background")
        try kit.tell("submit processing clean", "submitted clean")
        #expect(try kit.tasks().map(\.state.known) == [.running, .pending])
        try kit.tell("complete true")
        #expect(try watcher.awaitOutcome("refresh") == .succeeded)
        try kit.runTask("clean")
        try kit.hear("run clean ProcessingTask background")
        try kit.tell("complete false")
        #expect(try watcher.awaitOutcome("clean") == .failed)
    }

    @Test func `scheduled work is unavailable if the administrator turns it off`() throws {
        let kit = try KitDaemon(.tasks(), configuration: ["ScheduledWork=no"])
        try kit.launch()
        try kit.tell("submit refresh refresh", "refused refresh: unavailable")
        // The administrator turns it on again.
        try kit.daemon.configure([])
        _ = try kit.daemon.client().reload()
        try kit.tell("submit refresh refresh", "submitted refresh")
    }
}
