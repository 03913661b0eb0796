import Glibc
import GreenroomLinux
import Testing

@testable import GreenroomSpawner

/// The wire, without a socket: what is written is read again, and nothing else is accepted.
@Suite struct CodecTests {
    private static var fullSpecification: SpawnSpecification {
        get throws {
            var value = SpawnSpecification(
                instance: 1 << 40, app: "org.example.é", path: "/bin/x", arguments: ["x", "", "ö"],
                environment: ["A=b"])
            value.workingDirectory = "/home"
            value.fileModeMask = 0o027
            value.identity = .init(user: 1, group: 2, supplementaryGroups: [3, 4])
            value.noNewPrivileges = true
            value.confinement = Self.fullConfinement
            value.cgroupSettings = [.init("memory.max", "4096"), .init("pids.max", "max")]
            value.resourceLimits = [ResourceLimit(.core, soft: 1, hard: .max)]
            value.oomScoreAdjustment = -5
            value.wantsChannel = true
            value.guardedExecutions = 3
            value.takesControllingTerminal = true
            value.descriptors = [.init(try FileDescriptor.open("/dev/null", O_RDONLY), at: 7)]
            value.workingDirectoryDescriptor = try FileDescriptor.open("/", O_RDONLY)
            value.closedDescriptors = 5
            value.inherited = try #require(InheritedState.own()).encoded(atPause: false)
            return value
        }
    }

    private static var fullConfinement: Confinement {
        var value = Confinement()
        value.namespaces = [.mount, .network]
        var mount = Confinement.Mount(.bind, at: "/a", source: "/b", attributes: .readOnly)
        mount.isOptional = true
        mount.isLate = true
        mount.followsNoLinks = true
        mount.makesTarget = true
        value.mounts = [mount, .init(.hidden, at: "/é")]
        value.capabilityBoundingSet = 1 << 40
        value.ambientCapabilities = 2
        value.filters = [[1, 2, 3, 4, 5, 6, 7, 8]]
        return value
    }

    @Test func `a specification is read back as it was written`() throws {
        let value = try Self.fullSpecification
        guard case .spawn(let read) = try SpawnerRequest(SpawnerRequest.spawn(value).packet())
        else {
            Issue.record("another request")
            return
        }
        #expect(read.instance == value.instance && read.app == value.app)
        #expect(read.path == value.path && read.arguments == value.arguments)
        #expect(read.environment == value.environment)
        #expect(read.workingDirectory == "/home" && read.fileModeMask == 0o027)
        #expect(read.identity == value.identity && read.noNewPrivileges)
        #expect(read.resourceLimits == value.resourceLimits)
        #expect(read.confinement == value.confinement)
        #expect(read.cgroupSettings == value.cgroupSettings)
        #expect(read.oomScoreAdjustment == -5 && read.wantsChannel)
        #expect(read.takesControllingTerminal && read.guardedExecutions == 3)
        #expect(read.descriptors.map(\.target) == [7])
        #expect(read.workingDirectoryDescriptor != nil)
        #expect(read.closedDescriptors == 5)
        #expect(read.inherited == value.inherited && !read.inherited.isEmpty)
    }

    @Test func `a descriptor to be kept is sent and returned`() throws {
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        guard
            case .keep(let name, let read) = try SpawnerRequest(
                SpawnerRequest.keep(name: "a b", file).packet())
        else {
            Issue.record("another request")
            return
        }
        #expect(name == "a b" && read.rawValue == file.rawValue)
        let message = SpawnerMessage.kept(name: "a b", file)
        #expect(describe(try SpawnerMessage(message.packet())) == describe(message))
    }

    @Test func `an order for a socket is for one of a network`() throws {
        func read(_ address: String) throws -> SocketOrder? {
            let order = SocketOrder(
                name: "a", kind: .stream, address: address, backlog: 7, isKept: true)
            guard case .listen(let read) = try SpawnerRequest(SpawnerRequest.listen(order).packet())
            else { return nil }
            #expect(read == order)
            return read
        }
        for address in ["80", "127.0.0.1:80", "[::1]:80", "vsock:2:80", "vsock::80"] {
            #expect(try read(address) != nil)
        }
        for address in ["/etc/passwd", "@name", "", "vsock:x:80", "localhost:80"] {
            #expect(throws: SpawnerWireError.badValue) { try read(address) }
        }
    }

    @Test func `a specification that is too large for the spawner is recognized`() throws {
        func isRead(_ value: SpawnSpecification) -> Bool {
            (try? SpawnerRequest(SpawnerRequest.spawn(value).packet())) != nil
        }
        var value = try Self.fullSpecification
        #expect(value.isWithinLimits)
        value.arguments = try #require(
            StringBlock(Array(repeating: "", count: SpawnerLimits.stringCount)))
        value.environment = value.arguments
        #expect(value.isWithinLimits && isRead(value))
        value.environment.append("")
        #expect(!value.isWithinLimits && !isRead(value))
        value.environment = []
        value.arguments.append("")
        #expect(!value.isWithinLimits && !isRead(value))
        value.arguments = try #require(
            StringBlock([String(repeating: "x", count: SpawnerLimits.bodyByteCount)]))
        #expect(!value.isWithinLimits)
    }

    @Test func `every message is read back as it was written`() throws {
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        let record = TableEntry(
            instance: 9, app: "a.b", pid: 77, status: .signaled(11, coreDumped: true),
            isEmptied: true, isGuarded: true, cgroupName: "app-a.b-9",
            process: ProcessDescriptor(file), channel: UnixSocket(file))
        let messages: [SpawnerMessage] = [
            .welcome(
                Welcome(
                    isManaged: true, degradation: "why", instanceCount: 3, state: file,
                    cgroup: file)),
            .instance(record), .spawned(record),
            .spawnFailed(instance: 1, SpawnError(stage: .user, code: EPERM)),
            .exited(instance: 2, .exited(255)), .emptied(instance: 3),
            .failed(instance: 4, code: EACCES),
            .stopped(instance: 5), .unguarded(instance: 6), .cannotGuard(code: EPERM),
            .misfired(instance: 7, program: "/usr/bin/x"), .misfired(instance: 8, program: nil),
            .executedSecurely(instance: 9), .listening(name: "a 80", file),
            .cannotListen(name: "a 80", SystemError(code: EACCES, call: "bind", subject: "80")),
        ]
        for message in messages {
            let read = try SpawnerMessage(message.packet())
            #expect("\(describe(read))" == "\(describe(message))")
        }
    }

    @Test func `an announcement with the process's number is the message of a start`() throws {
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        for (cgroup, channel) in [(nil, UnixSocket(file)), ("app-a.é-9", nil)] {
            let record = TableEntry(
                instance: 9, app: "a.é", pid: 0x1234_5678, isEmptied: false, isGuarded: false,
                cgroupName: cgroup, process: ProcessDescriptor(file), channel: channel)
            var (message, offset) = TableEntry.announcement(
                of: 9, app: "a.é", cgroupName: cgroup, hasChannel: channel != nil)
            message.replaceSubrange(offset..<offset + 4, with: [0x78, 0x56, 0x34, 0x12])
            #expect(message == SpawnerMessage.spawned(record).packet().encoded())
        }
    }

    @Test func `every shortened or lengthened packet is refused`() throws {
        let packets = [
            try SpawnerRequest.spawn(Self.fullSpecification).packet(),
            SpawnerRequest.hello(stateByteCount: 1, graceMilliseconds: 2).packet(),
            SpawnerRequest.release(instance: 5).packet(),
        ]
        for packet in packets {
            for count in 0..<packet.body.count {
                var cut = packet
                cut.body.removeLast(packet.body.count - count)
                #expect(throws: SpawnerWireError.self) { try SpawnerRequest(cut) }
            }
            var longer = packet
            longer.body.append(0)
            #expect(throws: SpawnerWireError.trailingBytes) { try SpawnerRequest(longer) }
            var extra = packet
            extra.descriptors.append(try FileDescriptor.open("/dev/null", O_RDONLY))
            #expect(throws: SpawnerWireError.badDescriptors) { try SpawnerRequest(extra) }
        }
    }

    @Test func `a packet with any byte changed never traps`() throws {
        let packet = try SpawnerRequest.spawn(Self.fullSpecification).packet()
        for i in packet.body.indices {
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var changed = packet
                changed.body[i] = value
                _ = try? SpawnerRequest(changed)
            }
        }
        for type in 0..<256 as Range<UInt16> {
            _ = try? SpawnerMessage(Packet(type: type, body: packet.body, descriptors: []))
        }
    }

    @Test func `another magic number, version or flag is refused`() throws {
        let good = SpawnerRequest.kill(instance: 1).packet().encoded()
        #expect(try Packet.decodeHeader(good[...]).type == 3)
        var magic = good
        magic[0] ^= 1
        #expect(throws: SpawnerWireError.badMagic) { try Packet.decodeHeader(magic[...]) }
        var version = good
        version[4] = UInt8(Packet.version + 1)
        #expect(throws: SpawnerWireError.badVersion(Packet.version + 1)) {
            try Packet.decodeHeader(version[...])
        }
        #expect(throws: SpawnerWireError.truncated) { try Packet.decodeHeader(good[..<11]) }
    }

    @Test func `the name of a cgroup has no path in it`() {
        #expect(Subtree.name(app: "org.example.App", instance: 7) == "app-org.example.App-7")
        #expect(Subtree.name(app: "../é/", instance: 7) == "app-..____-7")
        #expect(Subtree.name(app: String(repeating: "x", count: 999), instance: 7).utf8.count < 255)
    }

    @Test func `the command line is read`() throws {
        let none: (String) -> String? = { _ in nil }
        let options = try #require(
            try SpawnerOptions.parse(
                ["--runtime-directory", "/x", "--private"], isRoot: false, environment: none))
        #expect(options.socketPath == "/x/spawner")
        #expect(options.isPrivate && !options.avoidsCgroups)
        #expect(
            try SpawnerOptions.parse([], isRoot: true, environment: none)?.runtimeDirectory
                == "/run/greenroom")
        #expect(try SpawnerOptions.parse(["--help"], isRoot: true, environment: none) == nil)
        for bad in [["--runtime-directory"], ["--else"], []] {
            #expect(throws: SpawnerOptions.UsageError.self) {
                try SpawnerOptions.parse(bad, isRoot: false, environment: none)
            }
        }
    }

    /// Descriptors are compared by number, which the same object has on both sides.
    private func describe(_ message: SpawnerMessage) -> String {
        func describe(_ record: TableEntry) -> String {
            "\(record.instance) \(record.app) \(record.pid) \(String(describing: record.status)) "
                + "\(record.isEmptied) \(String(describing: record.cgroupName)) "
                + "\(record.process.descriptor.rawValue) "
                + "\(String(describing: record.channel?.descriptor.rawValue))"
        }
        return switch message {
        case .welcome(let value):
            "welcome \(value.isManaged) \(String(describing: value.degradation)) "
                + "\(value.instanceCount) \(value.state.rawValue) "
                + "\(String(describing: value.cgroup?.rawValue))"
        case .instance(let record): "instance " + describe(record)
        case .spawned(let record): "spawned " + describe(record)
        case .spawnFailed(let instance, let error): "spawnFailed \(instance) \(error)"
        case .exited(let instance, let status): "exited \(instance) \(status)"
        case .emptied(let instance): "emptied \(instance)"
        case .failed(let instance, let code): "failed \(instance) \(code)"
        case .kept(let name, let descriptor): "kept \(name) \(descriptor.rawValue)"
        case .ending: "ending"
        case .stopped(let instance): "stopped \(instance)"
        case .unguarded(let instance): "unguarded \(instance)"
        case .misfired(let instance, let program): "misfired \(instance) \(program ?? "-")"
        case .cannotGuard(let code): "cannotGuard \(code)"
        case .executedSecurely(let instance): "executedSecurely \(instance)"
        case .listening(let name, let descriptor): "listening \(name) \(descriptor.rawValue)"
        case .cannotListen(let name, let error): "cannotListen \(name) \(error)"
        }
    }
}
