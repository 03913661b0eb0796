import Glibc
import GreenroomLinux

/// The journal, which journalctl(1) reads under its own rules of access.
enum Journal {
    /// The path of journalctl; nil if it is not installed.
    static var program: String? {
        ["/usr/bin/journalctl", "/bin/journalctl"].first { unsafe access($0, X_OK) == 0 }
    }

    /// What journalctl prints with these words. Empty if it is not installed, or fails.
    static func text(_ words: [String]) -> String {
        guard let program, let (reading, writing) = try? FileDescriptor.pipe(),
            let process = try? MeasuredProcess.spawn(
                program, words, environment: Caller.environment(), pipe: writing.rawValue)
        else { return "" }
        _ = consume writing
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while let count = unsafe chunk.withUnsafeMutableBytes({ unsafe try? reading.read(into: $0) }
        ),
            count > 0
        {
            text += chunk[..<count]
        }
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0 ? String(decoding: text, as: UTF8.self) : ""
    }
}
