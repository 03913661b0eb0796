extension DesktopEntry {
    /// `Exec=`, split into words that still have their field codes.
    public struct Command: Hashable, Sendable {
        public enum Piece: Hashable, Sendable {
            case text(String)
            case code(Code)
        }

        public enum Code: Character, Sendable {
            case file = "f"
            case files = "F"
            case url = "u"
            case urls = "U"
            case icon = "i"
            case name = "c"
            case entry = "k"

            /// Whether the code stands for files or URLs to open.
            var takesFiles: Bool {
                switch self {
                case .file, .files, .url, .urls: true
                case .icon, .name, .entry: false
                }
            }

            /// Whether the code stands for several files or URLs.
            var isList: Bool { self == .files || self == .urls }
            /// Whether the code stands for local files only.
            var takesPaths: Bool { self == .file || self == .files }
        }

        /// The words, each as a list of pieces.
        public var words: [[Piece]]

        /// The code that stands for files or URLs. There is at most one.
        public var fileCode: Code? {
            for case .code(let code) in words.joined() where code.takesFiles { return code }
            return nil
        }

        /// Why the command cannot open the given files.
        public enum Refusal: Error, Hashable, Sendable {
            /// The command opens only one file at a time.
            case tooMany
            /// The command opens only local files.
            case notLocal(String)
            /// The file's name would become part of a text, probably of a shell command, so that a
            /// file's name could run any command. The specification leaves this undefined.
            case insideText
        }

        /// The program and its arguments.
        ///
        /// - Parameter files: paths or URLs to open. If the command has no code for them, they are
        ///   appended.
        public func arguments(
            opening files: [String] = [], name: String, icon: String?, file entry: String
        ) throws(Refusal) -> [String] {
            var result: [String] = []
            let code = fileCode
            var given = files
            if !files.isEmpty, words.contains(where: Self.isTextAroundFile) { throw .insideText }
            if let code {
                guard code.isList || files.count <= 1 else { throw .tooMany }
                if code.takesPaths {
                    given = []
                    for file in files {
                        guard let path = FileURL.path(of: file) else { throw .notLocal(file) }
                        given.append(path)
                    }
                }
            }
            for word in words {
                if word == [.code(.icon)] {
                    if let icon, !icon.isEmpty { result += ["--icon", icon] }
                } else if word.count == 1, case .code(let code) = word[0], code.takesFiles {
                    result += given
                } else {
                    result.append(text(of: word, given, name, icon, entry))
                }
            }
            return code == nil ? result + given : result
        }

        /// Whether a word is like `"less %f"`, and not like `--open=%f`.
        private static func isTextAroundFile(_ word: [Piece]) -> Bool {
            let hasBlank = word.contains { piece in
                if case .text(let text) = piece { text.contains(" ") } else { false }
            }
            let hasFile = word.contains { piece in
                if case .code(let code) = piece { code.takesFiles } else { false }
            }
            return hasBlank && hasFile
        }

        private func text(
            of word: [Piece], _ files: [String], _ name: String, _ icon: String?, _ entry: String
        ) -> String {
            word.map { piece in
                switch piece {
                case .text(let text): text
                case .code(.name): name
                case .code(.entry): entry
                case .code(.icon): icon ?? ""
                case .code(.file), .code(.url), .code(.files), .code(.urls):
                    files.first ?? ""
                }
            }.joined()
        }
    }
}

/// `file:` URLs (RFC 8089).
public enum FileURL {
    /// The path of a `file:` URL; a path is returned unchanged. Nil for any other URL.
    public static func path(of text: String) -> String? {
        guard hasScheme(text) else { return text }
        var rest = text[...]
        for prefix in ["file://localhost/", "file:///", "file:/"] where text.hasPrefix(prefix) {
            rest = text.dropFirst(prefix.count - 1)
            return decoded(rest.utf8)
        }
        return nil
    }

    /// Whether a text is a URL and not a path: letters, digits, `+ - .` and a colon (RFC 3986).
    public static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text.utf8[..<colon]
        guard let first = scheme.first, (97...122).contains(first | 0x20) else { return false }
        return scheme.allSatisfy {
            (97...122).contains($0 | 0x20) || (48...57).contains($0) || "+-.".utf8.contains($0)
        }
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                let digits = String(Substring(rest.prefix(2)))
                guard digits.utf8.count == 2, digits.first != "+",
                    let value = UInt8(digits, radix: 16), value != 0
                else {
                    return nil
                }
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
