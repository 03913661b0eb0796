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

// The room `Recovery`, with all rooms below it and a spawner that the test plays (`House`).
@Suite struct `A supervisor that takes over` {
    @Test func `kills an instance that no record knows, before it says that it has compared`() async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let known = try Tenant(1, of: "a.b")
                let unknown = try Tenant(2, of: "a.b")
                let house = try House(
                    ["a.b": manifest], records: [record(1, running)],
                    table: [known.entry, unknown.entry])
                let requests = try house.spawner.requests()
                #expect(requests.killed == [2] && requests.released == [2])
                #expect(house.phase(1) == .background)
                let last = requests.lastIndex { if case .reconciled = $0 { true } else { false } }
                let kill = requests.firstIndex { if case .kill = $0 { true } else { false } }
                #expect(try #require(kill) < #require(last))
            }
        }
    }

    @Test func `counts an instance that the spawner lacks as ended, and gives its number to none`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let house = try House(
                    ["a.b": manifest],
                    records: [record(7, running)])
                #expect(house.phase(7) == nil || house.phase(7) == .ended)
                #expect(try house.spawner.requests().spawned.isEmpty)
                house.launch("a.b")
                #expect(try house.spawner.requests().spawned.map(\.instance) == [8])
            }
        }
    }

    @Test func `learns of an end that was reported while nobody listened`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let tenant = try Tenant(1, of: "a.b", status: .exited(3))
                let house = try House(
                    ["a.b": manifest], records: [record(1, running)],
                    table: [tenant.entry])
                #expect(house.record(1)?.exitStatus == .exited(3))
                #expect(house.phase(1) == .emptying)
                house.hear(.emptied(instance: 1))
                #expect(house.phase(1) == nil || house.phase(1) == .ended)
                #expect(try house.spawner.requests().released == [1])
            }
        }
    }

    /// If it counted as one that never started, its client would launch it a second time.
    @Test func `hears that an instance has started that was told to go`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let tenant = try Tenant(1, of: "a.b")
                try say(.started(cookie: 0), on: tenant.channel)
                let house = try House(
                    ["a.b": manifest], records: [record(1, toldToGo)],
                    table: [tenant.entry])
                // It ends before the loop has seen the message.
                house.hear(.exited(instance: 1, .exited(0)))
                #expect(house.record(1)?.launchedAt != nil)
                #expect(house.record(1)?.endReason == .exitedSelf)
            }
        }
    }
}

// The room `Launching`, likewise.
@Suite struct `A launch that is cold` {
    @Test func `is ordered from the spawner, runs, ends and is released`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let house = try House(["a.b": manifest])
                _ = try house.spawner.requests()
                house.launch("a.b")
                let order = try #require(try house.spawner.requests().spawned.first)
                #expect(order.app == "a.b" && order.path == "/bin/sleep")
                #expect(order.arguments.strings == ["/bin/sleep", "9"])
                let instance = order.instance
                #expect(house.phase(instance) == .ordered)
                let tenant = try Tenant(instance, of: "a.b")
                house.hear(.spawned(tenant.entry))
                #expect(house.record(instance)?.launchedAt != nil)
                house.hear(.exited(instance: instance, .exited(0)))
                house.hear(.emptied(instance: instance))
                #expect(try house.spawner.requests().released == [instance])
                #expect(house.rooms.shared.instances[InstanceIdentifier(instance)] == nil)
            }
        }
    }

    @Test func `that the spawner cannot start fails, and leaves nothing behind`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let house = try House(["a.b": manifest])
                house.launch("a.b")
                let order = try #require(try house.spawner.requests().spawned.first)
                house.hear(
                    .spawnFailed(
                        instance: order.instance,
                        SpawnError(stage: .execute, code: EACCES)))
                #expect(house.rooms.shared.requests.count == 0)
                #expect(house.phase(order.instance) == nil || house.phase(order.instance) == .ended)
                #expect(try house.spawner.requests().spawned.isEmpty)
            }
        }
    }

    @Test func `fails at once if there is no spawner`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let house = try House(["a.b": manifest])
                house.rooms.shared.spawner.useNone()
                house.launch("a.b")
                #expect(house.rooms.shared.requests.count == 0)
            }
        }
    }
}

// The rooms `Launching` and `Prewarming`, likewise.
@Suite struct `A paused instance that is inspected only when it is told to go` {
    /// An instance of a former supervisor, which the core has just told to go.
    @LoopActor
    private struct Uninspected {
        let house: House
        let tenant: Tenant

        init() throws {
            tenant = try Tenant(1, of: "a.b")
            house = try House(
                ["a.b": "[App]\nType=application-kit\nExec=/bin/sleep 9\n"],
                records: [record(1, toldToGo)], table: [tenant.entry])
            // It was asked whether it is still paused.
            _ = try messages(on: tenant.channel)
        }

        /// Tells the instance to go, and returns the launch message that precedes GO.
        func launch(_ terms: LaunchTerms) throws -> AppLaunch? {
            let order = try LoopActor.deferred {
                house.rooms.launching.launcher.go(
                    InstanceIdentifier(1), for: .automatic, terms)
            }
            let arrival = try LoopActor.io(tenant.channel.descriptor.rawValue, .readable) { _ in
                LoopActor.shared.loop.exit(0)
            }
            defer { withExtendedLifetime((order, arrival)) {} }
            #expect(LoopActor.shared.loop.run() == 0)
            guard case .event(.launch(let launch))? = try messages(on: tenant.channel).first
            else { return nil }
            return launch
        }
    }

    @Test func `goes on the terms that hold after the inspection`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let instance = try Uninspected()
                #expect(instance.house.record(1)?.inBackground == false)
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
                let terms = LaunchTerms(isForConnection: true)
                #expect(try instance.launch(terms)?.reason == .socket)
            }
        }
    }
}

/// What a client gets that sends these calls and waits until nothing more happens.
@LoopActor
private func replies(_ house: House, to calls: [String]) throws -> [String] {
    let (near, far) = try UnixSocket.pair(.stream)
    let connection = try ControlConnection(
        identifier: 1, socket: near, peer: try Peer(near),
        user: ControlUser(try Disposer().stranger(getuid())), turns: try ControlTurns(),
        handler: house.rooms.control.handler)
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

// The room `Control`, likewise: bytes of a client in, bytes for it out.
@Suite struct `Calls of a client` {
    @Test func `are answered in their order, each by the room that it is about`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let house = try House(["a.b": manifest])
                let calls = ["List", "Launch", "Status", "Nothing"].map { name in
                    let parameters = name == "Launch" ? #"{"app":"a.c"}"# : "{}"
                    return
                        #"{"method":"io.greenroom.Control.\#(name)","parameters":\#(parameters)}"#
                }
                let replies = try replies(house, to: calls)
                #expect(replies.count == 4)
                #expect(replies[0].contains(#""identifier":"a.b""#))
                #expect(replies[1].contains("io.greenroom.Control.NoSuchApp"))
                #expect(replies[2].contains(#""instances":[]"#))
                #expect(replies[3].contains("org.varlink.service.MethodNotFound"))
            }
        }
    }
}
