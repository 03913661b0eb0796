import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The user whose programs have windows in these tests. Root's programs are not held.
let windowUser: Int32 = 65534

/// A process that prints the name of each window that appears from now on.
final class WindowWatch {
    private let process: ChildProcess
    private let pipe: Pipe

    init(_ request: ChildRequest) throws {
        pipe = try Pipe()
        var request = request
        request.descriptors[1] = pipe.writeEnd
        process = try ChildProcess(request)
        pipe.closeWriteEnd()
        while true {
            let line = try next()
            if line == "watching" { return }
            guard !line.isEmpty else { throw TestError("the client that prints windows has ended") }
        }
    }

    deinit {
        process.kill(SIGKILL)
        _ = try? process.waitForExit()
    }

    func next() throws -> String { try readLine(pipe.readEnd) }
}

/// A line, without its end; empty if none comes within the test's patience.
func readLine(_ descriptor: Int32) throws -> String {
    var bytes: [UInt8] = []
    while true {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Patience.milliseconds) == 1 else {
            throw TestError("no line came")
        }
        var byte: UInt8 = 0
        guard read(descriptor, &byte, 1) == 1 else { return "" }
        if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
        bytes.append(byte)
    }
}
