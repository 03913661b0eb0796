import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport

/// The output of an app: a pipe whose other end is given away.
final class Output {
    private let reading: FileDescriptor
    private var writing: FileDescriptor?
    private var bytes: [UInt8] = []

    init() throws {
        let (reading, writing) = try FileDescriptor.pipe()
        self.reading = reading
        self.writing = writing
    }

    /// The end to give away; `closeWriting` closes the test's copy.
    var number: Int32 { writing?.rawValue ?? -1 }

    func closeWriting() { writing = nil }

    /// The next line, without its end.
    func line() throws -> String {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeFirst(end + 1) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            guard try receive() else { throw TestError("the output ended") }
        }
    }

    /// All output, up to the end of the last writer.
    func text() throws -> String {
        closeWriting()
        while try receive() {}
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether something was written, or the last writer is gone.
    func hasInput(milliseconds: Int32) throws -> Bool {
        try !bytes.isEmpty || reading.waitUntilReadable(milliseconds: milliseconds)
    }

    private func receive() throws -> Bool {
        guard try reading.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("no output, only \(String(decoding: bytes, as: UTF8.self))")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = try buffer.withUnsafeMutableBytes { try reading.read(into: $0) } ?? 0
        bytes += buffer[..<count]
        return count > 0
    }
}

/// A running app that has said that it is ready for the test.
struct Running {
    let launched: Control.Launched
    let output: Output
    var instance: UInt64 { launched.instance }
    /// The instance's process; never 0 or -1, which mean many processes to kill(2).
    let pid: Int32
}

extension TestClient {
    /// Launches the program `behave`, which carries out the words, prints "here" and waits.
    func start(
        _ app: String, _ words: [String] = [],
        _ change: (inout Control.LaunchCall) -> Void = { _ in }
    ) throws -> Running {
        let output = try Output()
        let launched = try launch(
            app, words + ["print", "here", "wait-forever"], output: output.number, change)
        output.closeWriting()
        guard try output.line() == "here" else {
            throw TestError("the first line is not \"here\"")
        }
        guard let pid = launched.processId, pid > 1 else {
            throw TestError("no process: \(launched)")
        }
        return Running(launched: launched, output: output, pid: pid)
    }

    /// Launches the app, and returns all its output and how it ended.
    func run(
        _ app: String, _ words: [String] = [], input: Int32? = nil,
        _ change: (inout Control.LaunchCall) -> Void = { _ in }
    ) throws -> (launched: Control.Launched, text: String, exit: Control.ExitRecord) {
        let output = try Output()
        let launched = try launch(app, words, input: input, output: output.number, change)
        let text = try output.text()
        return (launched, text, try wait(launched.instance))
    }
}

/// Returns when a held program has been thawed for the first time, because the watch of its display
/// has begun. If that was over before the test could count, a hint thaws it again.
func awaitFirstThaw(of pid: Int32, _ app: String, _ client: TestClient) throws {
    let count = try Processes.sleepCount(of: pid)
    let hint = ContinuousClock.now + .milliseconds(Processes.deadline / 3)
    try Processes.wait("process \(pid) is not thawed") {
        if try Processes.wasThawed(pid, since: count) { return true }
        if ContinuousClock.now > hint { _ = try client.call(.prepare(app: app)) }
        return false
    }
}

/// The user that runs the daemon: the test's own, with cgroups if there are any, or the user nobody
/// without cgroups.
enum Runner: CaseIterable, CustomStringConvertible {
    case ownUser, nobody

    var options: TestDaemon.Options {
        switch self {
        case .ownUser: TestDaemon.Options()
        case .nobody: .asNobody
        }
    }

    var description: String {
        switch self {
        case .ownUser: "as the test's user"
        case .nobody: "as nobody"
        }
    }
}

/// Does each piece of work in its own thread, all at once, and rethrows the first error. Tasks
/// would share as many threads as there are processors, and the work blocks its thread.
func inParallel<Value: Sendable>(
    _ count: Int, _ work: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
    let jobs = (0..<count).map { index in Job { try work(index) } }
    let threads = jobs.map { job in
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                let job = Unmanaged<AnyObject>.fromOpaque(context!).takeRetainedValue()
                (job as! any Runnable).run()
                return nil
            }, Unmanaged<AnyObject>.passRetained(job).toOpaque())
        return thread
    }
    for thread in threads { pthread_join(thread, nil) }
    return try jobs.map { try $0.result!.get() }
}

private protocol Runnable { func run() }

private final class Job<Value>: Runnable {
    private(set) var result: Result<Value, any Error>?
    private let work: () throws -> Value
    init(_ work: @escaping () throws -> Value) { self.work = work }
    func run() { result = Result(catching: work) }
}
