import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// The descriptors that a process with a shared descriptor table leaves to greenroom-keep
/// (disposal.c).
@Suite struct SlowClosingTests {
    /// The spawner waits for this, and so does the next supervisor after one that was killed.
    @Test func `a descriptor that takes long to close does not delay the others`() throws {
        let include = "-I\(packageRoot)/Sources/CGreenroomLinux/include"
        let probe = try compileProbe("slow-close.c", with: ProbeCompiler("clang", [include]))
        let (input, stay) = try FileDescriptor.pipe()
        let (end, ofProbe) = try FileDescriptor.pipe()
        var request = SpawnRequest(path: probe, arguments: ["slow-close"], environment: [])
        request.descriptors = [
            .init(input.rawValue, at: 0), .init(2, at: 2), .init(ofProbe.rawValue, at: 3),
        ]
        let process = try request.spawn().process
        Glibc.close(ofProbe.release())
        #expect(try process.wait() == .signaled(SIGKILL, coreDumped: false))
        // The slow one takes a minute.
        let isClosed = try end.waitUntilReadable(milliseconds: min(Patience.milliseconds, 45_000))
        #expect(isClosed, "the other one is still open")
        withExtendedLifetime(stay) {}
    }

    /// A table that is shared grows only after a grace period of RCU, for which the loop would
    /// stand still.
    @Test func `a table has room for many descriptors before it is shared`() throws {
        let include = "-I\(packageRoot)/Sources/CGreenroomLinux/include"
        let probe = try compileProbe("table-room.c", with: ProbeCompiler("clang", [include]))
        let output = try Pipe()
        var request = SpawnRequest(path: probe, arguments: ["table-room"], environment: [])
        request.descriptors = [.init(output.writeEnd, at: 1), .init(2, at: 2)]
        request.resourceLimits = [ResourceLimit(.openFiles, soft: 2048, hard: 2048)]
        let process = try request.spawn().process
        output.closeWriteEnd()
        #expect(try process.wait() == .exited(0))
        var digits = [UInt8](repeating: 0, count: 16)
        let count = read(output.readEnd, &digits, digits.count)
        #expect(String(decoding: digits.prefix(max(count, 0)), as: UTF8.self) == "2048\n")
    }
}
