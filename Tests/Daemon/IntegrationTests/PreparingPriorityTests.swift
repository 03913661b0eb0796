import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Preparing an instance for which nobody waits takes no processor time from others, and a launched
/// app gets as much time as in a direct call.
@Suite(.serialized) struct PreparingPriorityTests {
    private static let app = "org.example.gated"

    /// The settings that decide how much processor time a process gets.
    private struct Share: Equatable {
        let policy: CInt
        let nice: CInt
        /// The nice value of the process's session, if sessions have one (sched(7)).
        let session: String
        /// The files of the process's cgroup; nil without the controller.
        let weight: String?
        let isCgroupIdle: String?

        init(of pid: Int32) {
            policy = sched_getscheduler(pid)
            nice = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(pid))
            let group = try? String(decoding: readFile("/proc/\(pid)/autogroup"), as: UTF8.self)
            session = group?.split(separator: " ").last.map(String.init) ?? "none"
            let folder = Cgroups.folder(of: pid)
            func content(_ file: String) -> String? {
                let bytes = folder.flatMap { try? readFile("\($0)/\(file)") }
                return bytes.map { String(decoding: $0, as: UTF8.self) }
            }
            weight = content("cpu.weight")
            isCgroupIdle = content("cpu.idle")
        }

        /// Whether the process runs only if a processor would be idle.
        var isLeast: Bool {
            policy == 5 || isCgroupIdle == "1\n" || isCgroupIdle == nil && weight == "1\n"
        }
    }

    /// - Returns: the number of the instance on its way to the pause, once it satisfies the
    ///   condition.
    private func awaitPreparing(
        _ daemon: TestDaemon, besides known: Int32? = nil, _ isSo: (Share) -> Bool
    ) throws -> Int32 {
        // No event reports a process's number or its priority, so the test asks again and again.
        let client = try daemon.client()
        let end = ContinuousClock.now + .milliseconds(Processes.deadline)
        while ContinuousClock.now < end {
            let preparing = try client.instances().first { $0.state == .prewarming }
            if let pid = preparing?.processId, pid != known, isSo(Share(of: pid)) { return pid }
            sched_yield()
        }
        throw TestError("no such instance on its way to the pause: \(daemon.log)")
    }

    private func requirePrivilege(_ daemon: TestDaemon) throws {
        try requireOrSkip(
            IdleScheduling.mayBeEnded() || Share(of: daemon.spawnerPid).weight != nil,
            "neither the cpu controller nor CAP_SYS_NICE")
    }

    /// The share of the program when it is executed without a pause.
    private func directShare(_ client: TestClient) throws -> Share {
        let direct = try client.launch("org.example.direct").instance
        let running = try client.instances().first { $0.instance == direct }
        return Share(of: try #require(running?.processId))
    }

    private func daemon(_ gated: GatedProgram) throws -> TestDaemon {
        try TestDaemon(
            TestApp(
                Self.app, exec: gated.program, prewarm: 1, gated.environment,
                "Instances=multiple"),
            TestApp("org.example.direct", exec: gated.program))
    }

    @Test func `an instance is held back until its pause, and launched with a direct run's share`()
        throws
    {
        let gated = try GatedProgram()
        let daemon = try daemon(gated)
        try requirePrivilege(daemon)
        let client = try daemon.client()
        let share = try directShare(client)
        let pid = try awaitPreparing(daemon) { $0.isLeast }
        gated.open()
        try daemon.awaitPaused(Self.app)
        let launched = try client.launch(Self.app)
        #expect(launched.kind == .prewarmed)
        try expect(share, ofThreadsOf: pid)
    }

    /// A finger also goes down to scroll.
    @Test func `an instance that is prepared for a hint is held back`() throws {
        let gated = try GatedProgram()
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: gated.program, prewarm: 1, gated.environment,
                prewarmLines: ["When=demand"]))
        try requirePrivilege(daemon)
        let client = try daemon.client()
        #expect(try client.call(.prepare(app: Self.app)) == .prepared(isReady: false))
        let pid = try awaitPreparing(daemon) { $0.isLeast }
        #expect(try client.call(.prepare(app: Self.app)) == .prepared(isReady: false))
        #expect(Share(of: pid).isLeast)
        gated.open()
        try daemon.awaitPaused(Self.app)
        #expect(try client.call(.prepare(app: Self.app)) == .prepared(isReady: true))
    }

    @Test func `an instance is no longer held back when a client begins to wait for it`() throws {
        let gated = try GatedProgram()
        let daemon = try daemon(gated)
        try requirePrivilege(daemon)
        let client = try daemon.client()
        let first = try awaitPreparing(daemon) { $0.isLeast }
        gated.open()
        try daemon.awaitPaused(Self.app)
        // From now on the pool has the environment of this client.
        _ = try client.launch(Self.app)
        let pid = try awaitPreparing(daemon, besides: first) { $0.isLeast }
        try client.send(.prewarm(app: Self.app, count: 1))
        #expect(try awaitPreparing(daemon) { !$0.isLeast } == pid)
        gated.open()
        _ = try client.reply(to: .prewarm(app: Self.app, count: 1))
        #expect(!Share(of: pid).isLeast)
    }

    @Test func `an instance is no longer held back when a launch waits for it`() throws {
        let gated = try GatedProgram()
        let daemon = try daemon(gated)
        try requirePrivilege(daemon)
        let client = try daemon.client()
        let share = try directShare(client)
        let first = try awaitPreparing(daemon) { $0.isLeast }
        // A launch waits for a prewarm for at most 1.5 times as long as the last prewarm took. The
        // second prewarm takes as long as a few calls, on a busy machine longer, so the first must
        // take very long, but less than the 20 s that the daemon allows.
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < .milliseconds(min(Processes.deadline / 6, 10_000)) {
            _ = try awaitPreparing(daemon) { $0.isLeast }
        }
        gated.open()
        try daemon.awaitPaused(Self.app)
        _ = try client.launch(Self.app)
        let second = try awaitPreparing(daemon, besides: first) { $0.isLeast }
        let call = Control.LaunchCall(app: Self.app)
        try client.send(.launch(call))
        #expect(try awaitPreparing(daemon) { !$0.isLeast } == second)
        gated.open()
        guard case .launched(let launched) = try client.reply(to: .launch(call)) else {
            throw TestError("another reply")
        }
        #expect(launched.kind == .prewarmed)
        try expect(share, ofThreadsOf: second)
    }

    @Test func `an instance that a former supervisor has held back is not held back for ever`()
        throws
    {
        let gated = try GatedProgram()
        let daemon = try daemon(gated)
        try requirePrivilege(daemon)
        let pid = try awaitPreparing(daemon) { $0.isLeast }
        try daemon.kill()
        gated.open()
        try daemon.start()
        try daemon.awaitPaused(Self.app)
        #expect(try daemon.client().launch(Self.app).kind == .prewarmed)
        #expect(!Share(of: pid).isLeast)
    }

    /// The weights of a launched app are written after its launch was answered.
    private func expect(_ share: Share, ofThreadsOf pid: Int32) throws {
        let threads = try FolderContents.names(in: "/proc/\(pid)/task").compactMap { Int32($0) }
        #expect(threads.count > 1)
        for thread in threads {
            let now = Share(of: thread)
            #expect(now.policy == share.policy && now.nice == share.nice)
            try Processes.wait("thread \(thread) has \(now), not \(share)") {
                Share(of: thread) == share
            }
        }
    }
}
