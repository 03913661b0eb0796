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

    @Test func `reports an app without its socket`() throws {
        let daemon = try TestDaemon(TestApp("org.example.sleeper", exec: "/bin/sleep 1000"))
        try daemon.directory.write(
            "[App]\nExec=/bin/true\n[Socket]\nListenStream=/proc/nowhere/at/all/socket\n",
            to: "apps/org.example.deaf.app")
        let client = try daemon.client()
        _ = try client.reload()
        let program = try Programs.client
        let request = ChildRequest(
            program, arguments: ["greenroomctl", "doctor", "--socket", daemon.socketPath])
        let report = try Self.text(of: request)
        #expect(
            report.contains(
                "FAILED   \(daemon.appDirectory)/org.example.deaf.app: listening on /proc/"),
            "\(report)")
        #expect(report.contains("1 manifest is good"), "\(report)")
    }

    @Test func `an empty list names the folder of this daemon`() throws {
        let daemon = try TestDaemon([])
        let request = ChildRequest(
            try Programs.client, arguments: ["greenroomctl", "list", "--socket", daemon.socketPath])
        #expect(
            try Self.text(of: request)
                == "No apps are installed. Manifests go to \(daemon.appDirectory).\n")
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
