import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Systemd
import Testing

@testable import GreenroomSupervisor

private let manifest = "[App]\nExec=/bin/sleep 9\n[Prewarm]\nWhen=never\n"

private func record(
    _ number: UInt64, _ state: ExecutionState, _ progress: LaunchProgress = .none
) -> InstanceRecord {
    var record = InstanceRecord(
        instance: InstanceIdentifier(number), app: AppIdentifier("a"), generation: 1,
        environmentKey: EnvironmentKey(0), state: state, since: Instant(nanoseconds: 1))
    record.progress = progress
    if progress != .none { record.launchKind = .prewarmed }
    return record
}

private let running = LaunchProgress.running(since: Instant(nanoseconds: 2))

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
                let (known, _) = try tableEntry(1, of: "a")
                let (unknown, _) = try tableEntry(2, of: "a")
                let house = try House(
                    ["a": manifest], records: [record(1, .background, running)],
                    table: [known, unknown])
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
                    ["a": manifest],
                    records: [record(7, .background, running), record(8, .launching)])
                #expect(house.phase(7) == nil || house.phase(7) == .ended)
                #expect(house.phase(8) == nil || house.phase(8) == .ended)
                #expect(try house.spawner.requests().killed == [])
                house.launch("a")
                #expect(try house.spawner.requests().spawned.map(\.instance) == [9])
            }
        }
    }

    @Test func `learns of an end that was reported while nobody listened`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let (entry, _) = try tableEntry(1, of: "a", status: .exited(3))
                let house = try House(
                    ["a": manifest], records: [record(1, .background, running)], table: [entry])
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
                let (entry, channel) = try tableEntry(1, of: "a")
                try say(.started(cookie: 0), on: channel)
                let house = try House(
                    ["a": manifest], records: [record(1, .launching, .toldToGo)], table: [entry])
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
                let house = try House(["a": manifest])
                _ = try house.spawner.requests()
                house.launch("a")
                let order = try #require(try house.spawner.requests().spawned.first)
                #expect(order.app == "a" && order.path == "/bin/sleep")
                #expect(order.arguments.strings == ["/bin/sleep", "9"])
                let instance = order.instance
                #expect(house.phase(instance) == .ordered)
                house.hear(.spawned(try tableEntry(instance, of: "a").0))
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
                let house = try House(["a": manifest])
                house.launch("a")
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
                let house = try House(["a": manifest])
                house.rooms.shared.spawner.useNone()
                house.launch("a")
                #expect(house.rooms.shared.requests.count == 0)
            }
        }
    }
}
