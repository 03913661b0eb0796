import Glibc
import GreenroomLinux
import GreenroomSpawner
import Testing

/// A supervisor that goes away in the middle of anything loses nothing.
@Suite struct ReconnectionTests {
    @Test func `the table lists running and ended instances until they are released`() throws {
        let spawner = try SpawnerProcess()
        do {
            let first = try TestSupervisor(spawner)
            _ = try first.hello()
            var lasting = SpawnSpecification.shell(1, "exec sleep 1000")
            lasting.wantsChannel = true
            _ = try first.spawn(lasting)
            _ = try first.spawn(.shell(2, "exit 5"))
            try first.emptied(2)
            first.leave()
        }
        let second = try TestSupervisor(spawner)
        let (_, table) = try second.hello()
        #expect(table.map(\.instance) == [1, 2])
        #expect(table[0].status == nil)
        #expect(table[0].channel != nil)
        #expect(try table[0].process.send(signal: 0))
        #expect(table[1].status == .exited(5))
        #expect(table[1].isEmptied)
        try second.connection.send(.release(instance: 2))
        try second.connection.send(.release(instance: 1))
        #expect(try second.exit(of: 1) == .signaled(SIGKILL, coreDumped: false))
        try second.emptied(1)
        try second.roundTrip()
        try second.connection.send(.hello(stateByteCount: 0, graceMilliseconds: 2_000))
        #expect(
            try second.first {
                if case .welcome(let value) = $0 { value.instanceCount } else { nil }
            }
                == 0)
    }

    @Test func `an instance that was released before the connection dropped stays released`() throws
    {
        let spawner = try SpawnerProcess()
        do {
            let first = try TestSupervisor(spawner)
            _ = try first.hello()
            _ = try first.spawn(.shell(1, "exit 5"))
            try first.emptied(1)
            let other = try first.spawn(.shell(2, "exec sleep 1000"))
            // All of this has happened when the spawner looks, so its first report is about 2.
            try spawner.freeze()
            try first.connection.send(.release(instance: 1))
            try other.process.send(signal: SIGKILL)
            _ = try other.process.descriptor.waitUntilReadable(milliseconds: deadline)
            first.leave()
            try spawner.thaw()
        }
        let (_, table) = try TestSupervisor(spawner).hello()
        #expect(table.map(\.instance) == [2])
        #expect(table.first?.status == .signaled(SIGKILL, coreDumped: false))
    }

    @Test func `the state mapping passes from one supervisor to the next`() throws {
        let spawner = try SpawnerProcess()
        do {
            let first = try TestSupervisor(spawner)
            let memory = try SharedMemory(mapping: try first.hello().welcome.state)
            #expect(memory.byteCount == 8192)
            #expect(memory.baseAddress.load(as: UInt64.self) == 0)
            memory.baseAddress.storeBytes(of: 0x5EED, as: UInt64.self)
            first.leave()
        }
        let second = try TestSupervisor(spawner)
        let memory = try SharedMemory(mapping: try second.hello().welcome.state)
        #expect(memory.baseAddress.load(as: UInt64.self) == 0x5EED)
    }

    @Test func `a second supervisor is refused while the first lives`() throws {
        let spawner = try SpawnerProcess()
        let first = try TestSupervisor(spawner)
        _ = try first.hello()
        let second = try TestSupervisor(spawner)
        #expect(throws: (any Error).self) { try second.hello() }
        _ = try first.spawn(.shell(1, "exit 0"))
        #expect(try first.exit(of: 1) == .exited(0))
    }

    @Test(arguments: [[], ["--no-cgroups"]] as [[String]])
    func `connections dropped under load lose no instance and no exit`(
        _ options: [String]
    ) throws {
        let spawner = try SpawnerProcess(options)
        let count: UInt64 = 60
        var next: UInt64 = 1
        var seen: [UInt64: TerminationStatus] = [:]
        var rounds = 0
        // Each round asks for instances, reads a little, and drops the connection in mid-stream.
        while seen.count < Int(count) {
            rounds += 1
            try #require(rounds < 200)
            let supervisor = try TestSupervisor(spawner)
            // Ends the connection, because a copy in a child of a concurrent test could keep this
            // supervisor alive for the spawner, which would then refuse the next one.
            defer { supervisor.leave() }
            let (_, table) = try supervisor.hello()
            for record in table {
                if let status = record.status {
                    #expect(seen[record.instance] == nil, "told again after its release")
                    seen[record.instance] = status
                    try supervisor.connection.send(.release(instance: record.instance))
                }
            }
            let known = Set(table.map(\.instance))
            next = max(next, (known.max() ?? 0) + 1)
            // What the last round asked for and the table lacks was never started: ask again.
            let missing = (1..<min(next, count + 1)).filter {
                seen[$0] == nil && !known.contains($0)
            }
            let fresh = (next..<min(next + 7, count + 1))
            for number in missing + Array(fresh) {
                try supervisor.connection.send(.spawn(.shell(number, "exit \(number % 200)")))
            }
            if let number = fresh.first ?? missing.first {
                try supervisor.first {
                    switch $0 {
                    case .spawned(let record) where record.instance == number: ()
                    case .spawnFailed: ()
                    default: nil
                    }
                }
            } else if let running = table.first(where: { $0.status == nil }) {
                _ = try running.process.descriptor.waitUntilReadable(milliseconds: deadline)
            }
        }
        #expect(seen.count == Int(count))
        for (number, status) in seen { #expect(status == .exited(CInt(number % 200))) }
    }
}
