import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// The two processes beside an app on a terminal (keeper.h).
@Suite struct TerminalKeeperTests {
    /// In optimized code, the code that waits could be a part of its caller, whose memory it gives
    /// back.
    @Test func `the keeper's processes wait wherever the program lies in memory`() throws {
        let flags = ["-O2", "-D_GNU_SOURCE", "-Wl,-z,max-page-size=65536"]
        let probe = try compileProbe("keeper.c", with: ProbeCompiler("clang", flags))
        let result = try run(ChildRequest(probe, arguments: [probe]))
        #expect(String(decoding: result.output, as: UTF8.self) == "S S\n")
    }

    @Test(arguments: [false, true])
    func `the keeper's processes end with the app, even if it is another user's`(
        isOfAnother: Bool
    ) throws {
        if isOfAnother { try requireOrSkip(getuid() == 0, "only root can start another user's") }
        let terminal = try PseudoTerminal()
        let (reading, writing) = try FileDescriptor.pipe()
        var request = SpawnRequest(
            path: "/bin/sh",
            arguments: [
                "sh", "-c", "read line </proc/$$/task/$$/children; echo $line >&3; read end",
            ],
            environment: [])
        request.startsSession = true
        request.takesControllingTerminal = true
        if isOfAnother {
            request.identity = .init(user: 65_534, group: 65_534, supplementaryGroups: [])
        }
        let descriptor = try #require(terminal.terminal).rawValue
        request.descriptors =
            (0...2).map { .init(descriptor, at: $0) } + [.init(writing.rawValue, at: 3)]
        let app = try request.spawn()
        Glibc.close(writing.release())
        var text = [UInt8](repeating: 0, count: 64)
        let count = try text.withUnsafeMutableBytes { try reading.read(into: $0) } ?? 0
        let words = String(decoding: text.prefix(count), as: UTF8.self).split(separator: " ")
        let keeper = try #require(words.first.flatMap { pid_t($0.filter(\.isNumber)) })
        let watched = try ProcessDescriptor(pid: keeper)
        try app.process.send(signal: SIGKILL)
        _ = try app.process.wait()
        var entries = [PollEntry(watched.descriptor.rawValue, POLLIN)]
        let hasEnded = try PollEntry.wait(&entries, milliseconds: Patience.milliseconds) == 1
        #expect(hasEnded, "\(keeper) lives on")
        if !hasEnded { kill(keeper, SIGKILL) }
    }
}
