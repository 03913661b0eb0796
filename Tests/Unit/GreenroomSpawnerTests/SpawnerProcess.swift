import Glibc
import GreenroomLinux
import GreenroomSpawner
import TestSupport
import Testing

/// A real greenroom-spawner in its own directory. It ends with its last reference, and all its
/// instances with it.
final class SpawnerProcess {
    /// Returns when the spawner has this many descriptors open.
    func awaitDescriptors(_ count: Int) throws {
        try Patience.wait("the spawner does not have \(count) descriptors") {
            KernelObjects.descriptorCount(of: pid) == count
        }
    }

    let directory: String
    let process: ProcessDescriptor
    let pid: pid_t
    private var hasEnded = false

    var socketPath: String { directory + "/spawner" }

    /// - Parameter former: a spawner that has ended, whose place this one takes.
    init(
        _ options: [String] = [], openFileLimit: UInt64? = nil, confinement: Confinement? = nil,
        after former: SpawnerProcess? = nil
    ) throws {
        directory = try former?.directory ?? Self.makeDirectory()
        unlink(directory + "/notify")
        let ready = try Readiness(directory + "/notify")
        let program = try Self.program()
        var request = SpawnRequest(
            path: program,
            arguments: StringBlock(
                [program, "--runtime-directory", directory, "--private"] + options)!,
            environment: ["NOTIFY_SOCKET=\(directory)/notify", "PATH=/usr/bin:/bin"])
        request.startsSession = true
        request.confinement = confinement
        if let openFileLimit {
            request.resourceLimits = [
                ResourceLimit(.openFiles, soft: openFileLimit, hard: openFileLimit)
            ]
        }
        let spawned = try request.spawn()
        process = spawned.process
        pid = spawned.pid
        try ready.wait()
    }

    private static func makeDirectory() throws -> String {
        var template = Array("/tmp/greenroom-spawner-test-XXXXXX\0".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, call: "mkdtemp") }
        return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        if !hasEnded {
            _ = try? process.send(signal: SIGTERM)
            if (try? process.descriptor.waitUntilReadable(milliseconds: deadline)) != true {
                _ = try? process.send(signal: SIGKILL)
            }
            _ = try? process.wait()
        }
        for name in ["notify", "spawner", ""] { remove(directory + "/" + name) }
    }

    /// Sends SIGKILL, and returns when the spawner has ended.
    func kill() throws {
        try process.send(signal: SIGKILL)
        _ = try wait()
    }

    /// Stops the spawner, and returns when it has stopped.
    func freeze() throws {
        try #require(try process.send(signal: SIGSTOP))
        var stopped = siginfo_t()
        try #require(waitid(P_PID, id_t(pid), &stopped, WSTOPPED) == 0)
    }

    func thaw() throws { try #require(try process.send(signal: SIGCONT)) }

    func wait() throws -> TerminationStatus {
        try #require(try process.descriptor.waitUntilReadable(milliseconds: deadline))
        hasEnded = true
        return try process.wait()
    }

    /// The spawner's program, which is beside the test bundle.
    private static func program() throws -> String {
        if let path = getenv("GREENROOM_SPAWNER") { return String(cString: path) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        let own = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        for candidate in [own, CommandLine.arguments[0]] + CommandLine.arguments {
            var directory = candidate[...]
            while let slash = directory.lastIndex(of: "/") {
                directory = directory[..<slash]
                let path = directory + "/greenroom-spawner"
                if access(String(path), X_OK) == 0, !path.contains("Sources") {
                    return String(path)
                }
            }
        }
        throw SystemError(code: ENOENT, call: "greenroom-spawner")
    }
}

/// On a machine that works, no fact takes longer. Only a failing test waits for so long.
let deadline: CInt = Patience.milliseconds

/// The receiving end of sd_notify.
private struct Readiness {
    let descriptor: FileDescriptor

    init(_ path: String) throws {
        let number = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        guard number >= 0 else { throw SystemError(code: errno, call: "socket") }
        descriptor = FileDescriptor(owning: number)
        try descriptor.setCloseOnExec(true)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SystemError(code: errno, call: "bind") }
    }

    func wait() throws {
        try #require(try descriptor.waitUntilReadable(milliseconds: deadline), "no READY=1")
    }
}

/// A supervisor for tests: waits for the messages that it is asked for.
final class TestSupervisor {
    let connection: SpawnerConnection
    private var pending: [SpawnerMessage] = []

    init(_ spawner: SpawnerProcess) throws {
        connection = try SpawnerConnection.connect(to: spawner.socketPath)
    }

    /// Ends the connection, even if a child of a concurrent test holds a copy until its exec.
    func leave() { shutdown(connection.fileDescriptor, CInt(SHUT_RDWR)) }

    func hello(grace: UInt32 = 2_000) throws -> (welcome: Welcome, table: [TableEntry]) {
        try connection.send(.hello(stateByteCount: 8192, graceMilliseconds: grace))
        let welcome = try first { if case .welcome(let value) = $0 { value } else { nil } }
        let table = try (0..<welcome.instanceCount).map { _ in
            try self.first { if case .instance(let value) = $0 { value } else { nil } }
        }
        return (welcome, table)
    }

    /// The first message, of those not yet handed out, that matches.
    func first<Value>(_ match: (SpawnerMessage) -> Value?) throws -> Value {
        while true {
            for (i, message) in pending.enumerated() {
                if let value = match(message) {
                    pending.remove(at: i)
                    return value
                }
            }
            var entry = [
                PollEntry(
                    connection.fileDescriptor, connection.hasUnsent ? POLLIN | POLLOUT : POLLIN)
            ]
            try #require(
                try PollEntry.wait(&entry, milliseconds: deadline) > 0,
                "nothing came but \(pending)")
            try connection.flush()
            pending += try connection.receive()
        }
    }

    func spawn(_ specification: SpawnSpecification) throws -> TableEntry {
        try connection.send(.spawn(specification))
        let result: Result<TableEntry, SpawnError> = try first {
            switch $0 {
            case .spawned(let record) where record.instance == specification.instance:
                .success(record)
            case .spawnFailed(specification.instance, let error): .failure(error)
            default: nil
            }
        }
        return try result.get()
    }

    func exit(of instance: UInt64) throws -> TerminationStatus {
        try first { if case .exited(instance, let status) = $0 { status } else { nil } }
    }

    func emptied(_ instance: UInt64) throws {
        try first { if case .emptied(instance) = $0 { () } else { nil } }
    }
}

extension SpawnSpecification {
    static func shell(_ instance: UInt64, _ script: String) -> SpawnSpecification {
        SpawnSpecification(
            instance: instance, app: "org.example.shell", path: "/bin/sh",
            arguments: ["sh", "-c", script], environment: ["PATH=/usr/bin:/bin"])
    }
}

extension FileDescriptor {
    /// Everything until the other end is closed.
    func readAll() throws -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try chunk.withUnsafeMutableBytes { try read(into: $0) } ?? 0
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk.prefix(count)
        }
    }
}
