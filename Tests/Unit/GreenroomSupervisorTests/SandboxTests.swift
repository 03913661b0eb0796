import GreenroomManifest
import Testing

@testable import GreenroomSupervisor

@Suite struct `A filter of system calls` {
    private func compiler(_ filter: String) throws -> CallFilterCompiler {
        let text = "[App]\nExec=/bin/true\n[Sandbox]\nSystemCallFilter=\(filter)\n"
        let (manifest, _) = AppManifest.parse(Array(text.utf8), file: "a.b.app")
        return CallFilterCompiler(try #require(manifest).sandbox)
    }

    /// A filter, the call that it forbids although a pause needs it, and the same for a terminal.
    @Test(
        arguments: [
            ("~reboot", nil, nil), ("~ioctl", nil, "ioctl"), ("~recvmsg", "recvmsg", nil),
            ("@system-service", nil, nil), ("read write", "openat", "ioctl"),
            // Only these calls fail, and the error is the one that the manifest names.
            ("~recvmsg:ENOSYS", "recvmsg", nil),
        ] as [(String, String?, String?)])
    func `forbids what a paused instance needs, or leaves it`(
        filter: String, pause: String?, terminal: String?
    ) throws {
        let compiler = try compiler(filter)
        #expect(compiler.forbiddenToPause == pause)
        #expect(compiler.forbiddenOnTerminal == terminal)
    }
}
