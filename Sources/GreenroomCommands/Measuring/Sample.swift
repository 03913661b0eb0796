import Glibc
import GreenroomControl
import GreenroomLinux

/// One run of a program, measured by its caller.
struct Sample {
    /// From the request to the first byte on standard output, in nanoseconds; nil if there is none.
    var firstOutput: UInt64?
    /// From the request to the goal of the measurement, in nanoseconds.
    var goal: UInt64
    /// What the program printed, up to ``outputLimit``, and how it ended.
    var output: [UInt8]
    var exit: Ending

    /// At most this much output is kept and compared, in bytes.
    static let outputLimit = 1 << 20
}

/// Up to when a run is measured.
enum MeasuredGoal: Equatable {
    /// The end of the process and of its output.
    case end
    /// The program listens on a socket, and is then ended.
    case listening
}

/// A run of a server, which is ended when it listens.
final class ServerRun {
    private let process: pid_t
    /// Ends the server; `atOnce` if it has not ended after it was asked to.
    private let end: (_ atOnce: Bool) throws(Failure) -> Void
    /// When it was first seen to listen, in nanoseconds from the request.
    private(set) var listening: UInt64?
    private var isEndedAtOnce = false

    /// How long it may take to end, in nanoseconds.
    private static let patience: UInt64 = 5_000_000_000

    init(_ process: pid_t, end: @escaping (_ atOnce: Bool) throws(Failure) -> Void) {
        self.process = process
        self.end = end
    }

    var isOver: Bool { ProcessTable.entry(of: process)?.isZombie ?? true }

    /// The time until the next look, in milliseconds.
    var interval: UInt64 { listening == nil ? 1 : 100 }

    /// Looks whether the server, or a process that it has started, listens on a socket (proc(5)).
    func look(_ elapsed: UInt64) throws(Failure) {
        if let listening {
            guard !isEndedAtOnce, elapsed - listening > Self.patience else { return }
            isEndedAtOnce = true
            try end(true)
        } else if ListeningProcess.isAmong(
            [process] + NetworkUse.processes(with: process).subtracting([process]))
        {
            listening = elapsed
            try end(false)
        }
    }
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

    /// Reads a pipe to its end, which comes when no process has the other end open any more. A
    /// server can close its output long before it ends, so its end is awaited, too.
    /// - Parameters:
    ///   - writeEnd: the other end as this process has it.
    ///   - server: the run, if it is that of a server.
    func read(
        _ pipe: FileDescriptor, closing writeEnd: FileDescriptor, of server: ServerRun?
    ) throws(Failure) -> (first: UInt64?, output: [UInt8]) {
        close(writeEnd.release())
        var first: UInt64?
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var isOpen = true
        while true {
            let rest = Self.deadline - min(Self.deadline, elapsed)
            guard rest > 0 else { throw Self.timeout }
            if !isOpen {
                guard let server, !server.isOver else { return (first, output) }
                try pause(milliseconds: CInt(server.interval))
            } else if try isReadable(pipe.rawValue, within: server?.interval ?? rest / 1_000_000) {
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe Glibc.read(pipe.rawValue, $0.baseAddress, $0.count)
                }
                if count < 0 && errno == EINTR { continue }
                isOpen = count > 0
                if isOpen, first == nil { first = elapsed }
                output += buffer[..<min(max(0, count), max(0, Sample.outputLimit - output.count))]
            }
            try server?.look(elapsed)
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

    private static let timeout = Failure.system(
        SystemError(code: ETIMEDOUT, call: "waiting for the program"))

    /// Waits until the descriptor can be read, at most until the end of the time that the run may take.
    func wait(for descriptor: CInt) throws(Failure) {
        try wait(for: descriptor, until: start + Self.deadline)
    }

    private func wait(for descriptor: CInt, until deadline: UInt64) throws(Failure) {
        let rest = deadline - min(deadline, MonotonicClock.nanoseconds)
        guard try isReadable(descriptor, within: rest / 1_000_000) else { throw Self.timeout }
    }

    private func isReadable(
        _ descriptor: CInt, within milliseconds: UInt64
    ) throws(Failure) -> Bool {
        var entries = [
            PollEntry(descriptor, POLLIN), PollEntry(signals.descriptor.rawValue, POLLIN),
        ]
        do throws(SystemError) {
            let count = try PollEntry.wait(&entries, milliseconds: CInt(clamping: milliseconds))
            if entries[1].isReady, let signal = try signals.next() {
                interruption = signal
                throw SystemError(code: EINTR, call: "measuring")
            }
            return count > 0
        } catch {
            throw .system(error)
        }
    }
}
