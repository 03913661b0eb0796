import DaemonTestSupport
import GreenroomControl
import TestSupport
import Testing
import Varlink

@Suite struct `greenroomctl doctor` {
    @Test func `examines a running daemon and reports a missing one`() throws {
        let daemon = try TestDaemon(TestApp("org.example.sleeper", exec: "/bin/sleep 1000"))
        let request = ChildRequest(
            try Programs.client,
            arguments: ["greenroomctl", "doctor", "--json", "--socket", daemon.socketPath])
        let alive = try JSONValue(parsing: Self.text(of: request))
        #expect(Self.verdict(of: "daemon", in: alive) == "good")
        #expect(Self.verdict(of: "spawner", in: alive) == "good")
        #expect(Self.verdict(of: "version", in: alive) == "good")
        #expect(Self.verdict(of: "shim", in: alive) == "good")
        #expect(Self.verdict(of: "manifests", in: alive) == "good")
        #expect(Self.verdict(of: "kernel", in: alive) == "good")
        #expect(alive["healthy"] == JSONValue.bool(true))

        try daemon.kill()
        let dead = try JSONValue(parsing: Self.text(of: request))
        #expect(Self.verdict(of: "daemon", in: dead) == "failure")
        #expect(Self.verdict(of: "shim", in: dead) == "good")
        #expect(dead["healthy"] == JSONValue.bool(false))
    }

    private static func text(of request: ChildRequest) throws -> String {
        String(decoding: try run(request).output, as: UTF8.self)
    }

    private static func verdict(of code: String, in diagnosis: JSONValue) -> String? {
        guard case .array(let findings)? = diagnosis["findings"] else { return nil }
        for finding in findings where finding["code"] == .string(code) {
            if case .string(let verdict)? = finding["verdict"] { return verdict }
        }
        return nil
    }
}
