import Glibc
import GreenroomLinux
import TestSupport
import Testing

@Suite struct KernelObjectTests {
    @Test func `shared memory is the same in two mappings and has a fixed size`() throws {
        let first = try SharedMemory.create(byteCount: 8192, name: "test")
        let second = try SharedMemory(mapping: try first.descriptor.duplicate())
        first.baseAddress.storeBytes(of: 42, as: Int.self)
        #expect(second.baseAddress.load(as: Int.self) == 42)
        #expect(ftruncate(first.descriptor.rawValue, 4096) == -1 && errno == EPERM)
    }

    @Test func `memory in a file is kept, and is made longer if a newer version needs more`() throws
    {
        let path = "/tmp/greenroom-memory-\(getpid())-\(UInt64.random(in: 0...(.max)))"
        defer { unlink(path) }
        let first = try SharedMemory.file(at: path, byteCount: 4096, isKept: false)
        first.baseAddress.storeBytes(of: 42, as: Int.self)
        let second = try SharedMemory.file(at: path, byteCount: 8192, isKept: true)
        #expect(second.byteCount == 8192)
        #expect(second.baseAddress.load(as: Int.self) == 42)
        #expect(second.baseAddress.load(fromByteOffset: 8184, as: Int.self) == 0)
        let third = try SharedMemory.file(at: path, byteCount: 8192, isKept: false)
        #expect(third.baseAddress.load(as: Int.self) == 0)
    }

    @Test func `a sealed file cannot be changed`() throws {
        let file = try [1, 2, 3].withUnsafeBytes { try SealedFile.create($0, name: "test") }
        #expect(try file.readBytes(atMost: 100).count == 24)
        #expect(write(file.rawValue, "x", 1) == -1 && errno == EPERM)
        #expect(throws: SystemError(code: EFBIG, call: "fstat")) {
            try file.readBytes(atMost: 23)
        }
    }

    @Test func `inotify reports what changed`() throws {
        let inotify = try Inotify()
        var template = Array("/tmp/greenroom-inotify-test-XXXXXX".utf8CString)
        #expect(mkdtemp(&template) != nil)
        let directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        defer { rmdir(directory) }
        let watch = try inotify.watch(directory, for: UInt32(IN_CREATE))
        #expect(try inotify.read().isEmpty)
        _ = try FileDescriptor.open(directory + "/naïve name", O_CREAT | O_WRONLY, mode: 0o600)
        let events = try inotify.read()
        #expect(events.map(\.name) == ["naïve name"])
        #expect(events.map(\.watch) == [watch])
        unlink(directory + "/naïve name")
    }

    @Test func `a process is known by its descriptor until it has been waited for`() throws {
        let spawned = try SpawnRequest(
            path: "/bin/sleep", arguments: ["sleep", "1000"], environment: []
        ).spawn()
        let second = try ProcessDescriptor(pid: spawned.pid)
        #expect(try second.send(signal: SIGTERM))
        #expect(try second.descriptor.waitUntilReadable(milliseconds: Patience.milliseconds))
        #expect(try spawned.process.wait() == .signaled(SIGTERM, coreDumped: false))
        #expect(try !second.send(signal: SIGTERM))
    }

    @Test func `users and groups are found by name`() throws {
        let root = try #require(try Account.named("root"))
        #expect(root.user == 0)
        #expect(root.groups().contains(root.group))
        #expect(try Account.numbered(0)?.name == "root")
        #expect(try Account.named("no-such-user-here") == nil)
        #expect(try Account.group(named: "root") == 0)
        #expect(try Account.group(named: "no-such-group-here") == nil)
    }

    @Test func `an error has a name, a text and, where there is one, a remedy`() {
        let error = SystemError(code: ENOENT, call: "open", subject: "/x")
        #expect(error.description == "open /x: no such file or directory (ENOENT)")
        #expect(SystemError(code: EMFILE, call: "open").description.contains("LimitNOFILE"))
    }

    @Test func `a mistake of our own code traps`() async {
        await #expect(processExitsWith: .failure) {
            let descriptor = FileDescriptor(owning: 9_999)
            try descriptor.setNonblocking(true)
        }
    }

    @Test func `a released descriptor cannot be used`() async {
        await #expect(processExitsWith: .failure) {
            let descriptor = try FileDescriptor.open("/dev/null", O_RDONLY)
            close(descriptor.release())
            _ = descriptor.rawValue
        }
    }
}
