import Glibc
import GreenroomLinux

/// One request of HTTP/1 (RFC 9112) on standard input and output, in a process that systemd starts
/// for each connection of a scraper. Only `GET` and `HEAD` of `/metrics` exist.
struct HTTPExchange {
    private static let byteLimit = 8192
    private static let patience = Duration.seconds(5)

    /// Which format the scraper reads; nil if the request is refused.
    private let format: ExpositionFormat?
    private let refusal: String
    private let wantsBody: Bool

    /// - Parameter head: the request line and the fields.
    init(head: String) {
        let lines = head.split(whereSeparator: \.isNewline)
        let words = (lines.first ?? "").split(separator: " ")
        wantsBody = words.first != "HEAD"
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else {
            (format, refusal) = (nil, "400 Bad Request")
            return
        }
        guard words[0] == "GET" || words[0] == "HEAD" else {
            (format, refusal) = (nil, "405 Method Not Allowed")
            return
        }
        guard words[1].prefix(while: { $0 != "?" }) == "/metrics" else {
            (format, refusal) = (nil, "404 Not Found")
            return
        }
        let accepted = lines.dropFirst().first { $0.lowercased().hasPrefix("accept:") }
        let readsOpenMetrics = accepted?.contains("application/openmetrics-text") == true
        (format, refusal) = (readsOpenMetrics ? .openmetrics : .prometheus, "")
    }

    /// - Parameter body: makes the text that is asked for.
    func response<E: Error>(_ body: (ExpositionFormat) throws(E) -> String) throws(E) -> String {
        guard let format else {
            let text = refusal + "\n"
            return head(refusal, "text/plain; charset=utf-8", text) + (wantsBody ? text : "")
        }
        let text = try body(format)
        return head("200 OK", format.mediaType, text) + (wantsBody ? text : "")
    }

    private func head(_ status: String, _ type: String, _ body: String) -> String {
        let allow = status.hasPrefix("405") ? "Allow: GET, HEAD\r\n" : ""
        return
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
            + allow + "Connection: close\r\n\r\n"
    }

    /// Reads a request's head from standard input: until an empty line, for at most five seconds.
    static func read() -> HTTPExchange {
        var bytes: [UInt8] = []
        let end = MonotonicClock.nanoseconds + UInt64(patience.components.seconds) * 1_000_000_000
        while bytes.count < byteLimit, !isWhole(bytes) {
            let now = MonotonicClock.nanoseconds
            guard now < end,
                (try? PollEntry.wait(
                    for: 0, CInt(POLLIN), milliseconds: CInt((end - now) / 1_000_000) + 1)) == true
            else { break }
            var chunk = [UInt8](repeating: 0, count: byteLimit - bytes.count)
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe Glibc.read(0, $0.baseAddress, $0.count)
            }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return HTTPExchange(head: isWhole(bytes) ? String(decoding: bytes, as: UTF8.self) : "")
    }

    private static func isWhole(_ bytes: [UInt8]) -> Bool {
        bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) || bytes.suffix(2).elementsEqual("\n\n".utf8)
    }
}
