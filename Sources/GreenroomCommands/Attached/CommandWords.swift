import Glibc
import GreenroomControl

/// This process's command line as bytes. `CommandLine.arguments` replaces bytes that are not UTF-8.
enum CommandWords {
    static let all: [ByteString] = {
        var words: [ByteString] = []
        words.reserveCapacity(Int(CommandLine.argc))
        var next = unsafe CommandLine.unsafeArgv
        while let text = unsafe next.pointee {
            words.append(unsafe ByteString(cString: text))
            unsafe next += 1
        }
        return words
    }()

    /// The words after the first "--".
    static var behindTerminator: ArraySlice<ByteString> {
        all.firstIndex(of: "--").map { all[($0 + 1)...] } ?? []
    }

    /// The words for the parser, without those after "--" of a verb that passes these on to an app:
    /// the parser's time grows with the square of their number.
    static func own(_ words: [String]) -> [String] {
        guard ["launch", "run"].contains(words.first) || words.starts(with: ["desktop", "run"]),
            let end = words.firstIndex(of: "--")
        else { return words }
        return Array(words[..<end])
    }

    /// The original bytes of words that the parser has taken from the command line, in order. They
    /// are found by their text, in which U+FFFD stands for bytes that are not UTF-8.
    ///
    /// - Parameter option: the option with which each of them may have been given, for example
    ///   `--env`.
    static func originals(
        of parsed: [String], option: String? = nil, among words: [ByteString] = all
    ) -> [ByteString] {
        var rest = words[...]
        return parsed.map { word in
            guard word.contains("\u{FFFD}") else { return .text(word) }
            let prefix = option.map { "\($0)=" }
            while let next = rest.popFirst() {
                if next.shown == word { return next }
                if let prefix, next.shown == prefix + word {
                    return ByteString(bytes: next.bytes.dropFirst(prefix.utf8.count))
                }
            }
            return .text(word)
        }
    }
}

extension ByteString {
    /// If this is the path of a file, the absolute path; otherwise the same bytes.
    var asFile: ByteString {
        switch self {
        case .text(let text): return .text(Caller.absolute(text))
        case .bytes(let bytes):
            guard bytes.first != UInt8(ascii: "/"), exists(bytes),
                let directory = Caller.currentDirectory()
            else { return self }
            let separator: [UInt8] = directory == [UInt8(ascii: "/")] ? [] : [UInt8(ascii: "/")]
            return ByteString(bytes: directory + separator + bytes)
        }
    }

    private func exists(_ path: [UInt8]) -> Bool {
        var status = stat()
        return unsafe (path + [0]).withUnsafeBufferPointer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) {
                unsafe stat($0.baseAddress!, &status) == 0
            }
        }
    }
}
