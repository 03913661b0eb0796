import DaemonTestSupport
import TestSupport
import Testing
import Varlink

@Suite struct TopTests {
    @Test func `programs can read top's figures`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            [
                TestApp("org.example.app", exec: program, prewarm: 1),
                TestApp("org.example.other", exec: program),
            ], .init())
        try daemon.awaitPaused("org.example.app")
        let running = try daemon.client().start("org.example.other")
        let client = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                client, arguments: [client, "top", "--json"],
                environment: ["GREENROOM_SOCKET=\(daemon.socketPath)"]
                    + ChildRequest.sanitizerOptions))
        #expect(exit == .status(0))
        let look = try JSONValue(parsing: output.span)
        guard case .array(let instances)? = look["instances"] else {
            throw TestError("another text")
        }
        #expect(
            Set(instances.map { $0["app"] })
                == [.string("org.example.app"), .string("org.example.other")])
        let row = try #require(instances.first { $0["app"] == .string("org.example.other") })
        #expect(row["instance"] == .integer(Int64(running.instance)))
        #expect(row["processId"] == .integer(Int64(running.pid)))
        let sizes = instances.map { instance -> Int64 in
            if case .integer(let size)? = instance["byteCount"] { size } else { 0 }
        }
        #expect(sizes == sizes.sorted(by: >))
    }
}
