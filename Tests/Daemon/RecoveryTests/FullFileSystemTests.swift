import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The file system of the runtime directory, or of the state directory, has no room.
@Suite struct FullFileSystemTests {
    private let app = "org.example.a"

    @Test func `a daemon whose runtime directory has become full goes on launching`() throws {
        try requireOrSkip(getuid() == 0, "only root mounts")
        let daemon = try TestDaemon([program(app, try compileProbe("behave.c"))])
        try daemon.terminate()
        try daemon.forgetBoot()
        let folder = daemon.runtimeDirectory
        guard mount("tmpfs", folder, "tmpfs", 0, "size=1m,mode=755") == 0 else {
            throw TestError("mounting: errno \(errno)")
        }
        defer { umount2(folder, CInt(MNT_DETACH)) }
        try daemon.start()
        let process = try daemon.pid
        try fill(folder + "/filler")
        let client = try daemon.client()
        func isDegraded() throws -> Bool {
            try client.describe().degraded.contains { $0.code == "full_instance_state" }
        }
        func loggedCount() -> Int {
            daemon.log.split(separator: "newer instances will not survive").count - 1
        }
        // Their records take more than the pages that were in use before.
        let running = try (0..<20).map { _ in try client.launch(app, ["wait-forever"]) }
        let launched = try client.launch(app, ["exit", "3"])
        #expect(try client.wait(launched.instance).status == 3)
        #expect(try isDegraded())
        #expect(loggedCount() == 1)
        #expect(try client.describe().processId == process)
        unlink(folder + "/filler")
        // With the next record, all are saved.
        try client.change(.kill, running[0].instance)
        _ = try client.wait(running[0].instance)
        #expect(try !isDegraded())
        try fill(folder + "/filler")
        for _ in 0..<20 { _ = try client.launch(app, ["wait-forever"]) }
        #expect(try isDegraded())
        #expect(loggedCount() == 2)
        unlink(folder + "/filler")
        try daemon.kill()
        try daemon.start()
        let next = try daemon.client()
        let kept = try next.instances(of: app).map(\.instance)
        #expect(running.dropFirst().allSatisfy { kept.contains($0.instance) })
    }

    @Test func `past launches are shown while the disk is full, and each such time is logged`()
        throws
    {
        try requireOrSkip(getuid() == 0, "only root mounts")
        let daemon = try TestDaemon([program(app, try compileProbe("behave.c"))])
        try daemon.terminate()
        let folder = daemon.directory.path + "/state"
        guard mount("tmpfs", folder, "tmpfs", 0, "size=1m,mode=755") == 0 else {
            throw TestError("mounting: errno \(errno)")
        }
        defer { umount2(folder, CInt(MNT_DETACH)) }
        try daemon.start()
        let client = try daemon.client()
        func launches() throws -> [UInt64] {
            guard case .history(let page) = try client.call(.history(.init())) else {
                throw TestError("another reply")
            }
            return page.records.map(\.instance)
        }
        func run() throws -> UInt64 {
            let launched = try client.launch(app, ["exit", "3"])
            #expect(try client.wait(launched.instance).status == 3)
            return launched.instance
        }
        func notes() throws -> [String] { try client.describe().degraded.map(\.code) }
        let first = try run()
        #expect(try launches() == [first])
        #expect(try !notes().contains("unwritten_history"))
        try fill(folder + "/filler")
        _ = try run()
        #expect(try launches() == [first])
        #expect(try notes().contains("unwritten_history"))
        unlink(folder + "/filler")
        let last = try run()
        #expect(try launches() == [last, first])
        #expect(try !notes().contains("unwritten_history"))
        func loggedCount() -> Int {
            daemon.log.split(separator: "launches are not kept in the history").count - 1
        }
        #expect(loggedCount() == 1)
        try fill(folder + "/filler")
        for _ in 1...2 {
            _ = try run()
            _ = try launches()
        }
        #expect(loggedCount() == 2)
    }

    private func fill(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(file, page, page.count) > 0 {}
        guard errno == ENOSPC else { throw TestError("filling: errno \(errno)") }
    }
}
