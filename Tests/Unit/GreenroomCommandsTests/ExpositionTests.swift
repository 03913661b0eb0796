@testable import GreenroomCommands
import GreenroomControl
import Testing
import VarlinkTestSupport

@Suite struct `Metrics for monitoring systems` {
    private static let counted: Control.MetricsReply = {
        var total = Control.AppMetrics(sinceTimestampUSec: 0)
        total.launches = [
            .init(
                metric: .firstDraw,
                buckets: [
                    .init(fromUSec: 3000, toUSec: 5000, count: 2),
                    .init(fromUSec: 1_500_000, toUSec: 2_000_000, count: 1),
                    .init(fromUSec: 60_000_000, toUSec: nil, count: 4),
                ])
        ]
        total.exits = [.init(exit: .normal, foreground: 6, background: 1)]
        total.foregroundUSec = 1_500_000
        total.peakByteCount = 4096
        return .init(
            app: "org.example.a\"b", total: total, current: .init(sinceTimestampUSec: 0))
    }()

    private static let instance = Control.InstanceStatus(
        instance: 4, app: "org.example.app", state: .active, sinceTimestampUSec: 0)

    private static func lines(_ format: ExpositionFormat) -> [Substring] {
        Exposition(format, [counted], [instance, instance]).text.split(separator: "\n")
    }

    @Test func `the buckets of a histogram are summed up to one without end`() {
        let buckets = Self.lines(.openmetrics).filter {
            $0.hasPrefix("greenroom_launch_duration_seconds_bucket")
        }
        let labels = #"{app="org.example.a\"b",kind="first_draw",le="#
        let counts = buckets.map { $0.split(separator: labels).last! }
        #expect(
            counts == [
                #""0.001"} 0"#, #""0.002"} 0"#, #""0.005"} 2"#, #""0.01"} 2"#, #""0.02"} 2"#,
                #""0.05"} 2"#, #""0.1"} 2"#, #""0.2"} 2"#, #""0.5"} 2"#, #""1.0"} 2"#,
                #""2.0"} 3"#, #""5.0"} 3"#, #""10.0"} 3"#, #""20.0"} 3"#, #""60.0"} 3"#,
                #""+Inf"} 7"#,
            ])
    }

    @Test func `counters, gauges and units are named as each format wants`() {
        let open = Self.lines(.openmetrics)
        let older = Self.lines(.prometheus)
        let sample = #"greenroom_run_seconds_total{app="org.example.a\"b",place="foreground"} 1.5"#
        for lines in [open, older] {
            #expect(lines.contains(sample[...]))
            #expect(lines.contains(#"greenroom_instances{app="org.example.app",state="active"} 2"#))
        }
        #expect(open.contains("# TYPE greenroom_run_seconds counter"))
        #expect(open.contains("# UNIT greenroom_run_seconds seconds"))
        #expect(open.last == "# EOF")
        #expect(older.contains("# TYPE greenroom_run_seconds_total counter"))
        #expect(!older.contains { $0.hasPrefix("# UNIT") || $0.hasPrefix("# EOF") })
    }

    @Test func `a scraper gets the format that it reads`() {
        func answer(_ head: String) -> String {
            HTTPExchange(head: head).response { $0 == .openmetrics ? "new\n" : "old\n" }
        }
        let older = answer("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
        #expect(older.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"))
        #expect(older.hasSuffix("Content-Length: 4\r\nConnection: close\r\n\r\nold\n"))
        let open = answer(
            "GET /metrics?a=b HTTP/1.0\r\naccept: application/openmetrics-text; version=1.0.0\r\n\r\n"
        )
        #expect(open.contains("Content-Type: application/openmetrics-text; version=1.0.0"))
        #expect(open.hasSuffix("\r\n\r\nnew\n"))
        #expect(answer("HEAD /metrics HTTP/1.1\r\n\r\n").hasSuffix("Connection: close\r\n\r\n"))
    }

    @Test(
        "What is no request for metrics is refused",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"), ("", "400 Bad Request"),
        ])
    func refused(_ head: String, _ status: String) {
        let answer = HTTPExchange(head: head).response { _ in "secret" }
        #expect(answer.hasPrefix("HTTP/1.1 \(status)\r\n"))
        #expect(!answer.contains("secret"))
    }

    @Test func `without apps, those are shown of which something was counted`() throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .metrics(let app) = received.call else { return nil }
            var reply = Self.counted
            reply.app = app
            if app == "org.other.passwd" { reply.total = .init(sinceTimestampUSec: 0) }
            return .reply([ControlReply.metrics(reply)])
        }
        let shown = try run("metrics", on: daemon).output.split(separator: "\n")
        #expect(
            shown.filter { !$0.hasPrefix(" ") } == ["org.ffmpeg.ffmpeg", "org.debian.passwd"])
        #expect(try run("metrics", "org.other.passwd", on: daemon).output.hasPrefix("org.other"))
    }
}
