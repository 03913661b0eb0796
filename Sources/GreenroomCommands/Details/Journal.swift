import Glibc
import GreenroomLinux

/// The journal, which journalctl(1) reads under its own rules of access.
enum Journal {
    /// The path of journalctl; nil if it is not installed.
    static var program: String? {
        ["/usr/bin/journalctl", "/bin/journalctl"].first { unsafe access($0, X_OK) == 0 }
    }

    /// How long journalctl may take, in milliseconds. It may wait for a disk, and reads a long or
    /// damaged journal slowly.
    private static let patience: CInt = 3000
    /// How long to wait for the end of a journalctl that was killed, in milliseconds.
    private static let killPatience: CInt = 1000
    /// If journalctl prints this many bytes, all of its text is dropped. A line of the journal can
    /// have megabytes.
    private static let byteLimit = 256 << 10

    /// What journalctl prints with these words. Empty if it is not installed, fails, takes too long
    /// or prints too much.
    static func text(
        _ words: [String], by program: String? = program, milliseconds: CInt = patience
    ) -> String {
        guard let program, let (reading, writing) = try? FileDescriptor.pipe(),
            let number = try? MeasuredProcess.spawn(
                program, words, environment: Caller.environment(), pipe: writing.rawValue),
            let process = try? ProcessDescriptor(pid: number)
        else { return "" }
        _ = consume writing
        let end = MonotonicClock.nanoseconds + UInt64(milliseconds) * 1_000_000
        func waitForInput(_ descriptor: FileDescriptor) -> Bool {
            let now = MonotonicClock.nanoseconds
            let rest = now < end ? CInt((end - now) / 1_000_000 + 1) : 0
            return (try? descriptor.waitUntilReadable(milliseconds: rest)) == true
        }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while text.count < byteLimit, waitForInput(reading),
            let count = unsafe chunk.withUnsafeMutableBytes({ unsafe try? reading.read(into: $0) }),
            count > 0
        {
            text += chunk[..<count]
        }
        guard text.count < byteLimit, waitForInput(process.descriptor) else {
            _ = try? process.send(signal: SIGKILL)
            // The process may wait for a disk, and then does not even end now.
            if (try? process.descriptor.waitUntilReadable(milliseconds: killPatience)) == true {
                _ = try? process.wait()
            }
            return ""
        }
        return (try? process.wait()) == .exited(0) ? String(decoding: text, as: UTF8.self) : ""
    }
}
