import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// The supervisor is killed at random moments while clients work. They repeat unanswered calls
/// under the same name.
@Suite struct KillUnderLoadTests {
    private let app = "org.example.load"

    /// A client with one app at a time.
    private final class Worker {
        enum Plan { case exitsBySelf(Int32), isTerminated, isKilled }
        var client: TestClient
        var plan = Plan.isTerminated
        var name = ""
        var instance: UInt64?
        var pid: Int32?
        /// The remaining calls; the first is under way.
        var calls: [ControlCall] = []
        /// The state in the last answer, if no call under way changes it.
        var state: Control.Word<Control.ExecutionState>?
        init(_ client: TestClient) { self.client = client }
    }

    private func plan(_ worker: Worker, _ number: Int, _ random: inout SeededGenerator) {
        worker.name = "job-\(number)"
        worker.instance = nil
        worker.pid = nil
        worker.state = nil
        var call = Control.LaunchCall(app: app)
        call.launchIdentifier = worker.name
        call.standardOutput = 0
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
            let status = Int32.random(in: 1...200, using: &random)
            worker.plan = .exitsBySelf(status)
            call.arguments = ["print", .text(worker.name), "exit", "\(status)"]
        case _:
            worker.plan = Bool.random(using: &random) ? .isTerminated : .isKilled
            call.arguments = ["print", .text(worker.name), "wait-forever"]
        }
        // In one case of four, the environment fits no paused instance.
        if Int.random(in: 0..<4, using: &random) == 0 {
            call.environment = [.init(name: "LC_ALL", value: "C.UTF-8")]
        }
        worker.calls = [.launch(call)]
    }

    private func follow(_ worker: Worker, with instance: UInt64, _ random: inout SeededGenerator) {
        let target = Control.Target.instance(instance)
        switch worker.plan {
        case .exitsBySelf: break
        case .isTerminated, .isKilled:
            if Bool.random(using: &random) {
                worker.calls += [.transition(.suspend, target)]
                if Bool.random(using: &random) { worker.calls += [.transition(.resume, target)] }
            }
            if case .isTerminated = worker.plan {
                worker.calls += [.transition(.terminate, target)]
            } else {
                worker.calls += [.transition(.kill, target)]
            }
        }
        worker.calls += [.wait(.launch(worker.name))]
    }

    private func send(_ worker: Worker, _ output: Int32) throws {
        guard let call = worker.calls.first else { return }
        if case .launch = call {
            try worker.client.send(call, descriptors: [output])
        } else {
            try worker.client.send(call)
        }
    }

    /// Takes the answer to the worker's first call.
    private func receive(_ worker: Worker, _ random: inout SeededGenerator) throws {
        let call = worker.calls[0]
        do {
            switch try worker.client.reply(to: call) {
            case .launched(let launched):
                worker.instance = launched.instance
                worker.pid = launched.processId
                worker.calls.removeFirst()
                follow(worker, with: launched.instance, &random)
                return
            case .changed(let changed): worker.state = changed.state
            case .exited(let exited):
                #expect(exited.instance == worker.instance)
                switch worker.plan {
                case .exitsBySelf(let status): #expect(exited.exit.status.map(Int32.init) == status)
                case .isTerminated: #expect(exited.exit.signal == SIGTERM)
                case .isKilled: #expect(exited.exit.signal == SIGKILL)
                }
                worker.state = nil
            default: throw TestError("another reply")
            }
            worker.calls.removeFirst()
        } catch ControlError.notRunning {
            // The call was sent twice and performed the first time.
            guard case .transition(.terminate, _) = call else {
                guard case .transition(.kill, _) = call else {
                    throw TestError("not running: \(call)")
                }
                return worker.calls = Array(worker.calls.dropFirst())
            }
            worker.calls.removeFirst()
        }
    }

    @Test func `twenty-five kills lose nothing, repeat nothing and leave nothing behind`() throws {
        var random = SeededGenerator()
        let probe = try compileProbe("behave.c")
        var options = TestDaemon.Options()
        options.configuration = [
            "BackOffFirstSec=10ms", "BackOffCapSec=50ms", "CrashLoopCount=100",
        ]
        let daemon = try TestDaemon([program(app, probe, prewarm: 3)], options)
        try daemon.awaitPaused(app, count: 3)
        let spawner = try daemon.spawnerPid
        // The test's question for its number was also a connection. The spawner refuses this one
        // after that one.
        let refused = try UnixSocket.connect(to: daemon.runtimeDirectory + "/spawner", .seqpacket)
        try #require(
            try refused.descriptor.waitUntilReadable(milliseconds: Processes.deadline),
            "the spawner does not refuse a second supervisor")
        let descriptorsBefore = KernelObjects.lowestDescriptorCount(of: spawner)
        let cgroups = Cgroups.appFolder(of: try daemon.client().paused(app)[0].processId!)
            .map { String($0.prefix(upTo: $0.lastIndex(of: "/")!)) }

        let outputPath = daemon.directory.path + "/output"
        let output = open(outputPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(output) }
        let workers = try (0..<6).map { _ in Worker(try daemon.client()) }
        var (jobs, kills) = (0, 0)
        var lasting: Set<String> = []
        var answered = ContinuousClock.now
        while kills < 25 || workers.contains(where: { !$0.calls.isEmpty }) {
            for worker in workers where worker.calls.isEmpty && kills < 25 {
                plan(worker, jobs, &random)
                jobs += 1
                if case .exitsBySelf = worker.plan { lasting.insert(worker.name) }
                try send(worker, output)
            }
            let busy = workers.filter { !$0.calls.isEmpty }
            var entries = busy.map { PollEntry($0.client.descriptor, POLLIN) }
            // The random moment is after some milliseconds of silence, or after some answers.
            let patience = kills < 25 ? Int32.random(in: 0...6, using: &random) : Processes.deadline
            let count = try PollEntry.wait(&entries, milliseconds: patience)
            if count > 0 { answered = ContinuousClock.now }
            guard ContinuousClock.now - answered < .milliseconds(Processes.deadline) else {
                throw TestError("no answer: \(busy.map(\.calls))")
            }
            for (worker, entry) in zip(busy, entries) where entry.isReady {
                try receive(worker, &random)
                try send(worker, output)
            }
            // On a slow machine, silence is long and jobs are few.
            guard kills < 25, Int.random(in: 0..<12, using: &random) == 0, lasting.count >= kills
            else { continue }
            try daemon.kill()
            kills += 1
            try daemon.start()
            for worker in workers { worker.client = try daemon.client() }
            try checkStates(workers, daemon)
            for worker in workers { try send(worker, output) }
        }
        try checkEnd(
            daemon, lasting: lasting, outputPath, spawner, descriptorsBefore, cgroups)
        // This shows that the account notices a second run.
        let extra = try daemon.client().launch(
            app, ["print", "extra", "print", "extra"], output: output)
        _ = try daemon.client().wait(extra.instance)
        #expect(try runs(outputPath)["extra"] == 2)
    }

    /// Checks that the answers are still true after the restart.
    private func checkStates(_ workers: [Worker], _ daemon: TestDaemon) throws {
        let instances = try daemon.client().instances(of: app)
        for worker in workers {
            guard let instance = worker.instance, let state = worker.state,
                let call = worker.calls.first,
                case .transition(let transition, _) = call, transition != .kill,
                transition != .terminate
            else { continue }
            let now = instances.first { $0.instance == instance }
            // A resume that was under way may have been carried out.
            #expect(now?.state == state || now?.state == .background)
            #expect(now?.processId == worker.pid)
            #expect(Processes.isAlive(worker.pid!))
        }
    }

    private func history(of job: Substring, _ daemon: TestDaemon) -> String {
        daemon.log.split(separator: "\n").filter {
            $0.contains("launch=\(job)") || $0.contains("failed")
        }
        .joined(separator: "\n")
    }

    private func runs(_ path: String) throws -> [Substring: Int] {
        let text = String(decoding: try readFile(path), as: UTF8.self)
        return text.split(separator: "\n").reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    private func checkEnd(
        _ daemon: TestDaemon, lasting: Set<String>, _ outputPath: String, _ spawner: Int32,
        _ descriptors: Int, _ cgroups: String?
    ) throws {
        try daemon.await("the last to end") { client in
            try client.instances().allSatisfy { $0.state == .notRunning || $0.state == .prewarmed }
                ? true : nil
        }
        #expect(
            try daemon.client().instances(of: app).allSatisfy { $0.exit?.reason.known != .unknown })
        try daemon.renewPool(of: program(app, try compileProbe("behave.c"), prewarm: 3))
        let paused = try daemon.awaitPaused(app, count: 3)
        // Every launch ran once; only one that was ended early may not have written its first word.
        let runs = try runs(outputPath)
        for (job, count) in runs where count != 1 {
            Issue.record("\(job) ran \(count) times: \(history(of: job, daemon))")
        }
        for job in lasting where runs[Substring(job)] == nil {
            Issue.record("\(job) did not run: \(history(of: Substring(job), daemon))")
        }
        #expect(lasting.count > 20)
        // No process except the paused ones is left, and no cgroup or descriptor. The spawner
        // removes the last of them when it has nothing else to do.
        try Processes.wait("other processes than the paused ones are left, or fewer") {
            Set(Processes.apps(of: spawner)) == Set(paused.map { $0.processId! })
        }
        // One cgroup is kept in reserve since the first cold launch.
        let spare = cgroups == nil ? 0 : 1
        if let cgroups {
            try Processes.wait("there are not \(3 + spare) cgroups") {
                KernelObjects.directoryCount(below: cgroups) == 3 + spare
            }
        }
        try Processes.wait("the spawner does not have \(descriptors + spare) descriptors") {
            KernelObjects.descriptorCount(of: spawner) == descriptors + spare
        }
    }
}
