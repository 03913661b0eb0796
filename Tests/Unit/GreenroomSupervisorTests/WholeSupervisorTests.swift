import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

private let manifest = "[App]\nExec=/bin/sleep 9\n[Prewarm]\nWhen=never\n"

private func record(_ number: UInt64, _ saved: RecordedState) -> InstanceRecord {
    var record = InstanceRecord(
        instance: InstanceIdentifier(number), app: AppIdentifier("a.b"), generation: 1,
        environmentKey: EnvironmentKey(0), saved: saved, since: Instant(nanoseconds: 1))
    record.launchKind = .prewarmed
    return record
}

private let running = {
    var saved = RecordedState(.background)
    saved.launchedAt = Instant(nanoseconds: 2)
    return saved
}()

private let toldToGo = {
    var saved = RecordedState(.launching)
    saved.isToldToGo = true
    return saved
}()

/// What an app says on its channel.
private func say(_ message: AppMessage, on channel: UnixSocket) throws {
    let bytes = try message.encoded()
    _ = try bytes.withUnsafeBytes { try channel.send($0) }
}

extension [SpawnerRequest] {
    fileprivate var killed: [UInt64] {
        compactMap { if case .kill(let instance) = $0 { instance } else { nil } }
    }
    fileprivate var released: [UInt64] {
        compactMap { if case .release(let instance) = $0 { instance } else { nil } }
    }
    fileprivate var spawned: [SpawnSpecification] {
        compactMap { if case .spawn(let order) = $0 { order } else { nil } }
    }
}

// Tests the room `Recovery`, with all rooms below it and a spawner that the test plays
// (`TestSupervisor`).
@Suite struct `A supervisor that takes over` {
    @Test func `kills an instance that no record knows, before it says that it has compared`() async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let known = try TestInstance(1, of: "a.b")
                let unknown = try TestInstance(2, of: "a.b")
                let supervisor = try TestSupervisor(
                    ["a.b": manifest], records: [record(1, running)],
                    table: [known.entry, unknown.entry])
                let requests = try supervisor.spawner.requests()
                #expect(requests.killed == [2] && requests.released == [2])
                #expect(supervisor.phase(1) == .background)
                let last = requests.lastIndex { if case .reconciled = $0 { true } else { false } }
                let kill = requests.firstIndex { if case .kill = $0 { true } else { false } }
                #expect(try #require(kill) < #require(last))
            }
        }
    }

    /// A program would wait for the watch of its name until its prewarm deadline.
    @Test func `knows that a lost spawner starts no watch any more`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let spawned = try TestInstance(1, of: "a.b")
                let supervisor = try TestSupervisor(
                    ["a.b": manifest], records: [record(1, running)], table: [spawned.entry])
                let watch = try #require(
                    supervisor.rooms.shared.instances.part(
                        BusWatch.self, of: InstanceIdentifier(1)))
                var releaseCount = 0
                try watch.begin(try Disposal().disposer, release: { releaseCount += 1 }) { _ in }
                #expect(watch.isRunning && releaseCount == 0)
                supervisor.rooms.recovery.ownProcesses.forget()
                #expect(!watch.isRunning && releaseCount == 1)
            }
        }
    }

    @Test func `counts an instance that the spawner lacks as ended, and gives its number to none`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(
                    ["a.b": manifest],
                    records: [record(7, running)])
                #expect(supervisor.phase(7) == nil || supervisor.phase(7) == .ended)
                #expect(try supervisor.spawner.requests().spawned.isEmpty)
                supervisor.launch("a.b")
                #expect(try supervisor.spawner.requests().spawned.map(\.instance) == [8])
            }
        }
    }

    @Test func `learns of an end that was reported while nobody listened`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let spawned = try TestInstance(1, of: "a.b", status: .exited(3))
                let supervisor = try TestSupervisor(
                    ["a.b": manifest], records: [record(1, running)],
                    table: [spawned.entry])
                #expect(supervisor.record(1)?.exitStatus == .exited(3))
                #expect(supervisor.phase(1) == .emptying)
                supervisor.hear(.emptied(instance: 1))
                #expect(supervisor.phase(1) == nil || supervisor.phase(1) == .ended)
                #expect(try supervisor.spawner.requests().released == [1])
            }
        }
    }

    /// If the instance counted as one that never started, its client would launch it a second time.
    @Test func `hears that an instance has started that was told to go`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let spawned = try TestInstance(1, of: "a.b")
                try say(.started(cookie: 0), on: spawned.channel)
                let supervisor = try TestSupervisor(
                    ["a.b": manifest], records: [record(1, toldToGo)],
                    table: [spawned.entry])
                // The instance ends before the loop has seen the message.
                supervisor.hear(.exited(instance: 1, .exited(0)))
                #expect(supervisor.record(1)?.launchedAt != nil)
                #expect(supervisor.record(1)?.endReason == .exitedSelf)
            }
        }
    }
}

// Tests the room `Launching` in the same way.
@Suite struct `A launch that is cold` {
    @Test func `is ordered from the spawner, runs, ends and is released`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(["a.b": manifest])
                _ = try supervisor.spawner.requests()
                supervisor.launch("a.b")
                let order = try #require(try supervisor.spawner.requests().spawned.first)
                #expect(order.app == "a.b" && order.path == "/bin/sleep")
                #expect(order.arguments.strings == ["/bin/sleep", "9"])
                let instance = order.instance
                #expect(supervisor.phase(instance) == .ordered)
                let spawned = try TestInstance(instance, of: "a.b")
                supervisor.hear(.spawned(spawned.entry))
                #expect(supervisor.record(instance)?.launchedAt != nil)
                supervisor.hear(.exited(instance: instance, .exited(0)))
                supervisor.hear(.emptied(instance: instance))
                #expect(try supervisor.spawner.requests().released == [instance])
                #expect(supervisor.rooms.shared.instances[InstanceIdentifier(instance)] == nil)
            }
        }
    }

    @Test func `that the spawner cannot start fails, and leaves nothing behind`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(["a.b": manifest])
                supervisor.launch("a.b")
                let order = try #require(try supervisor.spawner.requests().spawned.first)
                supervisor.hear(
                    .spawnFailed(
                        instance: order.instance,
                        SpawnError(stage: .execute, code: EACCES)))
                #expect(supervisor.rooms.shared.requests.count == 0)
                let phase = supervisor.phase(order.instance)
                #expect(phase == nil || phase == .ended)
                #expect(try supervisor.spawner.requests().spawned.isEmpty)
            }
        }
    }

    @Test func `fails at once if there is no spawner`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(["a.b": manifest])
                supervisor.rooms.shared.spawner.useNone()
                supervisor.launch("a.b")
                #expect(supervisor.rooms.shared.requests.count == 0)
            }
        }
    }
}

// Tests the rooms `Launching` and `Prewarming` in the same way.
@Suite struct `A paused instance that is inspected only when it is told to go` {
    /// An instance of a former supervisor, which the core has just told to go.
    @LoopActor
    private struct Uninspected {
        let supervisor: TestSupervisor
        let spawned: TestInstance

        init() throws {
            spawned = try TestInstance(1, of: "a.b")
            supervisor = try TestSupervisor(
                ["a.b": "[App]\nType=application-kit\nExec=/bin/sleep 9\n"],
                records: [record(1, toldToGo)], table: [spawned.entry])
            // The supervisor has asked the instance whether it is still paused.
            _ = try messages(on: spawned.channel)
        }

        /// Tells the instance to go, and returns the launch message that precedes GO.
        func launch(
            for origin: LaunchOrigin = .daemon, _ terms: LaunchTerms = LaunchTerms()
        ) throws -> AppLaunch? {
            let order = try LoopActor.deferred {
                supervisor.rooms.launching.launcher.go(
                    InstanceIdentifier(1), for: origin, terms)
            }
            let arrival = try LoopActor.io(spawned.channel.descriptor.rawValue, .readable) { _ in
                LoopActor.shared.loop.exit(0)
            }
            defer { withExtendedLifetime((order, arrival)) {} }
            #expect(LoopActor.shared.loop.run() == 0)
            guard case .event(.launch(let launch))? = try messages(on: spawned.channel).first
            else { return nil }
            return launch
        }
    }

    @Test func `goes on the terms that hold after the inspection`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let instance = try Uninspected()
                #expect(instance.supervisor.record(1)?.inBackground == false)
                // A launch in the foreground has joined since these terms were made.
                let launch = try instance.launch(LaunchTerms(inBackground: true, isForTask: true))
                #expect(launch?.flags.contains(.foreground) == true)
            }
        }
    }

    @Test func `is told that a connection was the reason`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let instance = try Uninspected()
                #expect(try instance.launch(for: .connection)?.reason == .socket)
            }
        }
    }
}

/// The replies to a client that sends these calls and waits until nothing more happens.
@LoopActor
private func replies(_ supervisor: TestSupervisor, to calls: [String]) throws -> [String] {
    let (near, far) = try UnixSocket.pair(.stream)
    let connection = try ControlConnection(
        identifier: 1, socket: near, peer: try Peer(near),
        user: ControlUser(try Disposer().stranger(getuid())), turns: try ControlTurns(),
        handler: supervisor.rooms.control.handler)
    defer { withExtendedLifetime(connection) {} }
    let bytes = Array(calls.map { $0 + "\0" }.joined().utf8)
    #expect(write(far.descriptor.rawValue, bytes, bytes.count) == bytes.count)
    let end = try LoopActor.deferred(priority: LoopPriority.idle) {
        LoopActor.shared.loop.exit(0)
    }
    defer { withExtendedLifetime(end) {} }
    #expect(LoopActor.shared.loop.run() == 0)
    var answer = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(far.descriptor.rawValue, &answer, answer.count)
    return answer.prefix(max(0, count)).split(separator: 0).map {
        String(decoding: $0, as: UTF8.self)
    }
}

// Tests the room `Control` in the same way: the client's bytes in, the replies' bytes out.
@Suite struct `Calls of a client` {
    @Test func `are answered in their order, each by the room that it is about`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let supervisor = try TestSupervisor(["a.b": manifest])
                let calls = ["List", "Launch", "Status", "Nothing"].map { name in
                    let parameters = name == "Launch" ? #"{"app":"a.c"}"# : "{}"
                    return
                        #"{"method":"io.greenroom.Control.\#(name)","parameters":\#(parameters)}"#
                }
                let replies = try replies(supervisor, to: calls)
                #expect(replies.count == 4)
                #expect(replies[0].contains(#""identifier":"a.b""#))
                #expect(replies[1].contains("io.greenroom.Control.NoSuchApp"))
                #expect(replies[2].contains(#""instances":[]"#))
                #expect(replies[3].contains("org.varlink.service.MethodNotFound"))
            }
        }
    }
}
