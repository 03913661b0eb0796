import Glibc
import GreenroomLinux

/// A server that runs only for a measurement, and prints a line when it is ready. It ends with this
/// object, and with the process that made it, however that process ends. A server with a file
/// capability (some distributions give sway CAP_SYS_NICE) survives a SIGKILL of that process,
/// because the kernel clears its PR_SET_PDEATHSIG.
final class MeasuredServer {
    /// The first line that the server printed.
    let line: String
    /// What the server prints after that line.
    let output: FileDescriptor
    private let process: pid_t
    private var hasEnded = false

    private static let startMilliseconds: UInt64 = 20_000
    private static let endMilliseconds: UInt64 = 1000
    private static let pauseMilliseconds: CInt = 1
    /// The longest line is the address of a bus.
    private static let lineLimit = 4096

    /// - Parameter variables: `NAME=value`, in addition to a search path.
    init(_ words: [String], _ variables: [String] = [], clock: SampleClock) throws(Failure) {
        let started = try Self.start(words, variables)
        process = started.process
        output = started.pipe
        do throws(Failure) {
            let text = try clock.read(
                started.pipe, atMost: Self.lineLimit, milliseconds: Self.startMilliseconds,
                isLine: true)
            guard text.last == UInt8(ascii: "\n") else {
                // The words before "--" run the server as another user.
                let program = words.firstIndex(of: "--").map { words[$0 + 1] } ?? words[0]
                throw .system(SystemError(code: EPROTO, call: "starting", subject: program))
            }
            line = String(decoding: text.dropLast(), as: UTF8.self)
        } catch {
            Self.terminate(started.process)
            throw error
        }
    }

    deinit { end() }

    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        Self.terminate(process)
    }

    /// Asks the server to end first, so that it removes what it has created elsewhere (an X
    /// server's socket).
    private static func terminate(_ process: pid_t) {
        kill(process, SIGTERM)
        let deadline = MonotonicClock.nanoseconds + endMilliseconds * 1_000_000
        if let descriptor = try? ProcessDescriptor(pid: process) {
            while MonotonicClock.nanoseconds < deadline {
                let isOver = try? descriptor.descriptor.waitUntilReadable(
                    milliseconds: CInt(endMilliseconds))
                if isOver != false { break }
            }
        }
        end(process)
    }

    /// Nobody has waited for the process yet, so its number is still its own.
    private static func end(_ process: pid_t) {
        kill(process, SIGKILL)
        let deadline = MonotonicClock.nanoseconds + endMilliseconds * 1_000_000
        var status: CInt = 0
        // If a process of the server's user traces the server, that process decides when the
        // server's end can be waited for (ptrace(2)).
        while unsafe waitpid(process, &status, WNOHANG) == 0, MonotonicClock.nanoseconds < deadline
        {
            _ = poll(nil, 0, pauseMilliseconds)
        }
    }

    /// Ends the process and those that it has started and not waited for. They are in its group,
    /// because it has started a session. The number is not used again while the group has a process.
    private static func endGroup(of process: pid_t) {
        kill(-process, SIGKILL)
        end(process)
        let deadline = MonotonicClock.nanoseconds + endMilliseconds * 1_000_000
        while kill(-process, 0) == 0, MonotonicClock.nanoseconds < deadline {
            _ = poll(nil, 0, pauseMilliseconds)
        }
    }

    private static func start(
        _ words: [String], _ variables: [String]
    ) throws(Failure) -> (process: pid_t, pipe: FileDescriptor) {
        do throws(SystemError) {
            let pipe = try FileDescriptor.pipe()
            let process = try MeasuredProcess.spawn(
                words[0], words, environment: ["PATH=/usr/bin:/bin"] + variables,
                pipe: pipe.writing.rawValue, startsSession: true)
            close(pipe.writing.release())
            return (process, pipe.reading)
        } catch {
            throw .system(error)
        }
    }

    /// Runs a program to its end, and returns what it printed.
    static func output(
        _ words: [String], _ variables: [String] = [], clock: SampleClock, atMost limit: Int
    ) throws(Failure) -> [UInt8] {
        let (process, pipe) = try start(words, variables)
        // The program has said everything when its output ends, or when it is no longer waited for.
        defer { endGroup(of: process) }
        return try clock.read(pipe, atMost: limit, milliseconds: startMilliseconds)
    }
}
