internal import Glibc
internal import GreenroomLinux

/// A file of lines in the state directory, as it was found: it may be cut short or make no sense.
struct StateLines {
    let text: String
    /// The lines that have an end. A line that is cut is left out, because half a number is another
    /// number.
    let lines: [Substring]
    private let isCut: Bool

    init(_ text: String) {
        self.text = text
        lines = text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1)
        isCut = !text.hasSuffix("\n")
    }

    /// - Returns: nil if there is no file.
    /// - Throws: an error if the file cannot be read, or is longer than any that was written here.
    init?(path: String, byteLimit: Int) throws(SystemError) {
        do throws(SystemError) {
            // Opening a FIFO would otherwise wait.
            let file = try FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            self.init(String(decoding: try file.readBytes(atMost: byteLimit), as: UTF8.self))
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return nil }
            throw SystemError(code: error.code, call: error.call, subject: path)
        }
    }

    /// Whether the text was written to its end and every line is understood.
    func areWhole(by isKnown: (Substring) -> Bool) -> Bool {
        !isCut && lines.allSatisfy(isKnown)
    }
}
