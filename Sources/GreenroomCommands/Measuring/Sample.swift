import Glibc
import GreenroomControl
import GreenroomLinux

/// One run of a program, measured by its caller.
struct Sample {
    /// From the request to the first byte on standard output, and to the end of the process and of
    /// its output, in nanoseconds. A program that prints nothing has no first byte.
    var firstOutput: UInt64?
    var end: UInt64
    /// What the program printed, up to ``outputLimit``, and how it ended.
    var output: [UInt8]
    var exit: Ending

    /// At most this much output is kept and compared, in bytes.
    static let outputLimit = 1 << 20
}

/// Takes the times of runs. Signals that would end this process end the measurement instead, so
/// that nothing is left behind.
final class SampleClock {
    /// A run may take this long, in nanoseconds.
    static let deadline: UInt64 = 120_000_000_000

    private let signals: SignalDescriptor
    private(set) var start: UInt64 = 0

    init() throws(Failure) {
        do throws(SystemError) {
            signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        } catch {
            throw .system(error)
        }
    }

    func begin() { start = MonotonicClock.nanoseconds }

    var elapsed: UInt64 { MonotonicClock.nanoseconds - start }

    /// Reads a pipe to its end, which comes when no process has the other end open any more.
    /// - Parameter writeEnd: the other end as this process has it.
    func read(
        _ pipe: FileDescriptor, closing writeEnd: FileDescriptor
    ) throws(Failure) -> (first: UInt64?, output: [UInt8]) {
        close(writeEnd.release())
        var first: UInt64?
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            try wait(for: pipe.rawValue, until: start + Self.deadline)
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(pipe.rawValue, $0.baseAddress, $0.count)
            }
            guard count > 0 else {
                if count < 0 && errno == EINTR { continue }
                return (first, output)
            }
            if first == nil { first = elapsed }
            output += buffer[..<min(count, max(0, Sample.outputLimit - output.count))]
        }
    }

    /// Reads a pipe until it ends or the limit is reached, or to the end of a line.
    /// - Parameter milliseconds: how long all of this may take.
    func read(
        _ pipe: FileDescriptor, atMost limit: Int, milliseconds: UInt64, isLine: Bool = false
    ) throws(Failure) -> [UInt8] {
        let deadline = MonotonicClock.nanoseconds + milliseconds * 1_000_000
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: isLine ? 1 : 4096)
        while output.count < limit, !isLine || output.last != UInt8(ascii: "\n") {
            try wait(for: pipe.rawValue, until: deadline)
            let count = unsafe Glibc.read(pipe.rawValue, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += buffer[..<min(count, limit - output.count)]
        }
        return output
    }

    /// The signal that ended the measurement.
    private(set) var interruption: CInt?

    /// The same signal, or one that has come since. A terminal also sends the signal to the daemon,
    /// whose end may be noticed first.
    var ending: CInt? { interruption ?? (try? signals.next()) }

    func pause(milliseconds: CInt) throws(Failure) {
        var entries = [PollEntry(signals.descriptor.rawValue, POLLIN)]
        do throws(SystemError) {
            _ = try PollEntry.wait(&entries, milliseconds: milliseconds)
            if entries[0].isReady, let signal = try signals.next() {
                interruption = signal
                throw SystemError(code: EINTR, call: "measuring")
            }
        } catch {
            throw .system(error)
        }
    }

    /// Waits until the descriptor can be read.
    private func wait(for descriptor: CInt, until deadline: UInt64) throws(Failure) {
        let now = MonotonicClock.nanoseconds
        let rest = deadline - min(deadline, now)
        var entries = [
            PollEntry(descriptor, POLLIN), PollEntry(signals.descriptor.rawValue, POLLIN),
        ]
        do throws(SystemError) {
            let count = try PollEntry.wait(&entries, milliseconds: CInt(rest / 1_000_000))
            if entries[1].isReady, let signal = try signals.next() {
                interruption = signal
                throw SystemError(code: EINTR, call: "measuring")
            }
            if count == 0 { throw SystemError(code: ETIMEDOUT, call: "waiting for the program") }
        } catch {
            throw .system(error)
        }
    }
}
