import Glibc
import GreenroomLinux

/// Where a verb writes.
protocol Console: AnyObject {
    /// The appearance of standard output.
    var appearance: Appearance { get }
    /// Writes to standard output.
    func write(_ text: String)
    /// Writes to standard error.
    func complain(_ text: String)
    /// Writes a fault of a file, `FILE:LINE:COLUMN: MESSAGE`, to standard error, as editors read it.
    func report(_ fault: String)
}

extension Console {
    var appearance: Appearance { .plain }

    func report(_ fault: String) { complain(fault) }

    func line(_ text: String) { write(text.harmless + "\n") }
}

/// The process's standard streams, unbuffered, so that output is seen at once.
final class StandardConsole: Console {
    var appearance: Appearance {
        Appearance.of(1) { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    func write(_ text: String) {
        // A standard output that the caller has closed was replaced (`fillStandardDescriptors`), and
        // nobody would notice that the text is lost.
        let isClosed = Inheritance.own.closedDescriptors.contains(STDOUT_FILENO)
        guard let code = isClosed ? EBADF : put(text, STDOUT_FILENO) else { return }
        // If the reader has closed the pipe, this process ends silently, even if its caller ignores
        // SIGPIPE.
        if code == EPIPE { Ending.die(by: SIGPIPE) }
        complain("writing the output: \(SystemError.text(of: code))")
        exit(ExitStatus.failed.rawValue)
    }

    func complain(_ text: String) { _ = put("greenroomctl: " + text.harmless + "\n", 2) }

    func report(_ fault: String) { _ = put(fault.harmless + "\n", 2) }

    /// Writes to standard error without escaping.
    func explain(_ text: String) { _ = put(text, 2) }

    /// - Returns: the error, if there was one.
    private func put(_ text: String, _ descriptor: CInt) -> CInt? {
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno != EINTR { return errno }
            start += max(0, count)
        }
        return nil
    }
}
