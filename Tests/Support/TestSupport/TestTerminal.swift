import CTestSupport
import Glibc
import Testing

/// A terminal with a program in the foreground, and a user who types and waits for output.
public final class TestTerminal {
    public static let deadline: Int32 = Patience.milliseconds

    private let controller: Int32
    /// The program's end, which stays open, so that its settings can be read after the program has
    /// ended.
    public let terminal: Int32
    private var unread: [UInt8] = []
    /// Everything that was shown since the start.
    public private(set) var shown: [UInt8] = []
    public private(set) var child: ChildProcess!

    /// - Parameter request: gets this terminal wherever it has no descriptor of its own.
    public init(_ request: ChildRequest, rows: Int32 = 24, columns: Int32 = 80) throws {
        var ends: (Int32, Int32) = (-1, -1)
        try requireOrSkip(cts_open_terminal(&ends.0, &ends.1) == 0, "no pseudo-terminals")
        (controller, terminal) = ends
        _ = cts_window_size(terminal, rows, columns)
        var request = request
        for number: Int32 in 0...2 where request.descriptors[number] == nil {
            request.descriptors[number] = terminal
        }
        request.newSession = true
        request.takesTerminal = true
        child = try ChildProcess(request)
    }

    /// An interactive bash with job control that runs `greenroomctl` by its name.
    public static func shell(
        _ environment: [String], in directory: String = "/", client: String
    ) throws -> TestTerminal {
        let folder = client.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        var request = ChildRequest(
            "/bin/bash", arguments: ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        request.environment =
            ["PATH=\(folder):/usr/bin:/bin", "TERM=xterm", "LANG=C", "PS1=ready> "] + environment
        request.directory = directory
        let shell = try TestTerminal(request)
        try shell.await("ready> ")
        return shell
    }

    /// Ends the program.
    public func end() { child = nil }

    deinit {
        end()
        close(controller)
        close(terminal)
    }

    public func type(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(controller, $0.baseAddress, $0.count) }
            if count <= 0 { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Types a line to a shell and returns what is shown until its next prompt.
    @discardableResult
    public func enter(_ line: String, until text: String = "ready> ") throws -> String {
        type(line + "\r")
        return try self.await(text)
    }

    /// Reads what is shown until the text has been shown, and returns it.
    @discardableResult
    public func await(_ text: String) throws -> String {
        let wanted = Array(text.utf8)
        while true {
            if let end = Self.end(of: wanted, in: unread) {
                defer { unread.removeFirst(end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            guard try readMore() else {
                throw TestError("\"\(text)\" is not shown, but \"\(tail)\"")
            }
        }
    }

    /// Returns when the condition holds. Reads what is shown meanwhile.
    public func await(_ what: String, _ isSo: () throws -> Bool) throws {
        let timer = cts_timer(Self.deadline)
        defer { close(timer) }
        while try !isSo() {
            guard cts_await_readable(timer, 0) == 0 else {
                throw TestError("waiting for \(what); shown: \"\(tail)\"")
            }
            _ = try readMore(milliseconds: 5)
        }
    }

    /// Resizes the window. The kernel then sends SIGWINCH to the foreground process group.
    public func resize(rows: Int32, columns: Int32) {
        _ = cts_window_size(controller, rows, columns)
    }

    /// Whether the terminal passes every key on to the program.
    public var isRaw: Bool { cts_is_raw(terminal) == 1 }
    public var foregroundGroup: Int32 {
        get throws {
            let group = cts_foreground(controller)
            // To kill(2), the negatives of 0 and 1 mean many processes.
            guard group > 1 else { throw TestError("no process group in front: \(tail)") }
            return group
        }
    }

    private var tail: String {
        String(decoding: shown.suffix(2000), as: UTF8.self).unicodeScalars
            .map { $0.value == 27 ? "<ESC>" : String($0) }.joined()
    }

    private func readMore(milliseconds: Int32 = TestTerminal.deadline) throws -> Bool {
        guard cts_await_readable(controller, milliseconds) == 1 else { return false }
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = read(controller, &chunk, chunk.count)
        guard count > 0 else { return false }
        unread += chunk[..<count]
        shown += chunk[..<count]
        return true
    }

    private static func end(of wanted: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...(bytes.count - wanted.count)
        where bytes[start] == wanted.first && bytes[start...].starts(with: wanted) {
            return start + wanted.count
        }
        return nil
    }
}
