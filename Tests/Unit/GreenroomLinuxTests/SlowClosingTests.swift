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
        #expect(try end.waitUntilReadable(milliseconds: 20_000), "the other one is still open")
        withExtendedLifetime(stay) {}
    }
}
