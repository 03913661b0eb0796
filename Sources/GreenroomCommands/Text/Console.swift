import Glibc

/// Where a verb writes.
protocol Console: AnyObject {
    /// To standard output.
    func write(_ text: String)
    /// To standard error.
    func complain(_ text: String)
}

extension Console {
    func line(_ text: String) { write(text + "\n") }
}

/// The process's own; unbuffered, so that what was written is seen.
final class StandardConsole: Console {
    func write(_ text: String) { put(text, 1) }
    func complain(_ text: String) { put("greenroomctl: " + text + "\n", 2) }

    private func put(_ text: String, _ descriptor: CInt) {
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            // A reader that left ends us by SIGPIPE; other errors have no one to be told to.
            if count < 0, errno != EINTR { return }
            start += max(0, count)
        }
    }
}
