import DaemonTestSupport
import Glibc
import GreenroomLinux
import TestSupport

/// A wall clock for one daemon, which can be set without setting the machine's: a preloaded library
/// does what the kernel does when the clock is set (Tests/Probes/fake-clock.c). Tests in the
/// virtual machine show that the kernel does this (Tests/Suites/vm).
final class FakeClock {
    private let directory: TemporaryDirectory
    private let library: String
    private let path: String
    private var offset: Int64 = 0
    private static let second: Int64 = 1_000_000_000

    /// - Parameter time: seconds since midnight, UTC.
    init(at time: Int64) throws {
        library = try compileProbe(
            "fake-clock.c", with: ProbeCompiler("clang", ["-shared", "-fPIC"]),
            output: "fake-clock.so")
        directory = try TemporaryDirectory()
        path = try directory.write(String(repeating: "\0", count: 8), to: "clock")
        guard mkfifo(path + ".set", 0o600) == 0 else { throw TestError("mkfifo: errno \(errno)") }
        let now = Int64(Glibc.time(nil))
        offset = (time - now % 86_400) * Self.second
        try note()
    }

    var environment: [String] { ["LD_PRELOAD=\(library)", "FAKE_CLOCK=\(path)", "TZ=UTC"] }

    /// Moves the clock by this many seconds; the daemon notices.
    func put(by seconds: Int64) throws {
        offset += seconds * Self.second
        try note()
        let fifo = try FileDescriptor.open(path + ".set", O_WRONLY | O_NONBLOCK)
        _ = try fifo.writeText("x")
    }

    /// Sets the clock to the next time at which this second of the day comes.
    func put(to time: Int64) throws {
        let now = Int64(Glibc.time(nil)) + offset / Self.second
        try put(by: (time - now % 86_400 + 86_400) % 86_400)
    }

    private func note() throws {
        let file = try FileDescriptor.open(path, O_WRONLY)
        var value = offset
        guard pwrite(file.rawValue, &value, 8, 0) == 8 else { throw TestError("the clock's file") }
    }
}
