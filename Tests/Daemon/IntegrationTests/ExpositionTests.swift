import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The text for monitoring systems, read by the parsers of Prometheus' own library for Python.
@Suite struct ExpositionTests {
    private static let app = "org.example.app"
    private static let python = "/usr/bin/python3"

    private static func greenroomctl(
        _ daemon: TestDaemon, _ words: String..., input: Int32? = nil
    ) throws -> String {
        let client = try Programs.client
        var request = ChildRequest(
            client, arguments: [client] + words,
            environment: ["GREENROOM_SOCKET=\(daemon.socketPath)"] + ChildRequest.sanitizerOptions)
        if let input { request.descriptors[0] = input }
        let (exit, output) = try run(request)
        try #require(exit == .status(0))
        return String(decoding: output, as: UTF8.self)
    }

    private static func counted() throws -> TestDaemon {
        let daemon = try TestDaemon([TestApp(app, exec: "/bin/sh")])
        let client = try daemon.client()
        for script in ["exit 0", "kill -SEGV $$"] {
            _ = try client.wait(try client.launch(app, ["-c", script]).instance)
        }
        return daemon
    }

    @Test(
        "The format's parser reads the text",
        arguments: [
            ("openmetrics", "openmetrics.parser"), ("prometheus", "parser"),
        ])
    func parsed(_ format: String, _ parser: String) throws {
        let check = ChildRequest(
            Self.python, arguments: [Self.python, "-c", "import prometheus_client"])
        try requireOrSkip(
            access(Self.python, X_OK) == 0 && (try run(check)).exit == .status(0),
            "no Python package prometheus_client")
        let daemon = try Self.counted()
        let folder = try TemporaryDirectory()
        let file = folder.path + "/greenroom.prom"
        #expect(
            try Self.greenroomctl(daemon, "metrics", "--format", format, "--output", file) == "")
        let program = """
            import sys
            from prometheus_client.\(parser) import text_string_to_metric_families as families
            found = {family.name: family for family in families(open(sys.argv[1]).read())}
            for sample in found["greenroom_exits"].samples:
                print(sample.name, sample.labels["reason"], sample.labels["place"], int(sample.value))
            assert found["greenroom_launch_duration_seconds"].type == "histogram"
            """
        let (exit, output) = try run(
            ChildRequest(Self.python, arguments: [Self.python, "-c", program, file]),
            mergingErrors: true)
        #expect(exit == .status(0))
        #expect(
            String(decoding: output, as: UTF8.self) == """
                greenroom_exits_total normal foreground 1
                greenroom_exits_total normal background 0
                greenroom_exits_total bad_access foreground 1
                greenroom_exits_total bad_access background 0

                """)
    }

    @Test func `a scraper's request is answered on its connection`() throws {
        let daemon = try Self.counted()
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for end in pair { close(end) } }
        let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        try #require(write(pair[0], head, head.utf8.count) == head.utf8.count)
        let answer = try Self.greenroomctl(daemon, "metrics", "--http", input: pair[1])
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(
            answer.contains(
                #"greenroom_exits_total{app="org.example.app",reason="normal",place="foreground"} 1"#
            ))
    }
}
