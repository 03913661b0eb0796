import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux

struct ReportForeground: Verb {
    static let configuration = CommandConfiguration(
        commandName: "report-foreground",
        abstract: "Tell which app has the foreground, for a shell that can write lines.",
        discussion: """
            Reads lines from standard input, and reports each: the number of a process, the \
            identifier of an app, or an empty line if no app has the foreground. Prints the \
            app that is meant and its instance, or "none". The last report counts until the end of \
            the input. If the daemon ends, the exit code is 69.
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    /// Far more than the longest identifier, which has 255 bytes.
    private static let lineByteLimit = 4096

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        var code: Int32 = 0
        var input = LineReader(byteLimit: Self.lineByteLimit)
        while let line = try input.next(whileConnected: client) {
            let call = ControlCall.reportForeground(Control.Front(line: line))
            do throws(Failure) {
                let reply = try client.call(call)
                guard case .foreground(let foreground) = reply else { return 1 }
                if output.json {
                    console.write(Report.json(reply))
                } else {
                    console.line(foreground.words)
                }
            } catch {
                // Another line may name an app that exists.
                guard case .control = error else { throw error }
                console.complain(error.description)
                code = exitCode(of: error)
                // The app that was in front before is not in front any more.
                _ = try client.call(.reportForeground(nil))
            }
        }
        return code
    }
}

extension Control.Front {
    /// Nil for an empty line.
    init?(line: String) {
        let word = line.trimmed
        if word.isEmpty { return nil }
        if let process = Int32(word), process > 0 {
            self = .process(process)
        } else {
            self = .app(word)
        }
    }
}

extension Control.Foreground {
    fileprivate var words: String {
        guard let app else { return "none" }
        return instance.map { "\(app): instance \($0)" } ?? app
    }
}

/// The lines of standard input, as they come. If the daemon ends, waiting for a line ends, too.
private struct LineReader {
    let byteLimit: Int
    private var bytes: [UInt8] = []
    private var isAtEnd = false

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    mutating func next(whileConnected client: ControlClient) throws(Failure) -> String? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeFirst(end + 1) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            if isAtEnd {
                guard !bytes.isEmpty else { return nil }
                defer { bytes = [] }
                return String(decoding: bytes, as: UTF8.self)
            }
            guard bytes.count <= byteLimit else {
                throw .system(SystemError(code: EMSGSIZE, call: "a line of standard input"))
            }
            try read(whileConnected: client)
        }
    }

    private mutating func read(whileConnected client: ControlClient) throws(Failure) {
        var entries = [PollEntry(STDIN_FILENO, POLLIN), PollEntry(client.descriptor, POLLIN)]
        do throws(SystemError) { try PollEntry.wait(&entries, milliseconds: -1) } catch {
            throw .system(error)
        }
        // Between two calls, nothing comes from the daemon except the end of the connection.
        if entries[1].isReady { return try client.receive() }
        guard entries[0].isReady else { return }
        var buffer = [UInt8](repeating: 0, count: byteLimit)
        let count = unsafe Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0 {
            guard errno != EINTR, errno != EAGAIN else { return }
            throw .system(SystemError(code: errno, call: "read"))
        }
        if count == 0 { isAtEnd = true }
        bytes += buffer[..<count]
    }
}
