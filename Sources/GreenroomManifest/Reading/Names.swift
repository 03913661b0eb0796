internal import UnitFile

/// Checks names. Each error says what is allowed. No check performs input or output.
enum Names {
    /// Checks that a name is reverse-DNS as D-Bus defines it: two or more parts of letters, digits,
    /// `_` and `-`, none of which is empty or begins with a digit.
    static func identifier(_ text: String) throws(ValueError) -> String {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isValid =
            parts.count >= 2 && text.utf8.count <= AppManifest.Limit.identifierBytes
            && parts.allSatisfy { part in
                guard let first = part.utf8.first else { return false }
                return !isDigit(first) && part.utf8.allSatisfy { isWordByte($0) || $0 == 45 }
            }
        guard isValid else {
            throw ValueError(
                message: "'\(cut(text))' is not a reverse-DNS identifier such as "
                    + "org.example.Viewer (letters, digits, _ and -, no part beginning with a "
                    + "digit, at most \(AppManifest.Limit.identifierBytes) bytes)")
        }
        return text
    }

    /// Checks a user's or group's name or number (systemd.io/USER_NAMES, "relaxed").
    static func account(_ text: String) throws(ValueError) -> String {
        let isNumber = text.utf8.allSatisfy(isDigit)
        let isValid =
            isNumber
            ? UInt32(text).map { $0 < UInt32.max - 1 && $0 != 0xffff } ?? false
            : text.utf8.count <= 31 && text.utf8.first != 45
                && text.utf8.allSatisfy { isWordByte($0) || $0 == 45 || $0 == 46 }
        guard !text.isEmpty, isValid else {
            throw ValueError(message: "'\(cut(text))' is not the name or number of an account")
        }
        return text
    }

    static func variable(_ text: String) throws(ValueError) -> String {
        guard let first = text.utf8.first, !isDigit(first), text.utf8.allSatisfy(isWordByte) else {
            throw ValueError(
                message: "'\(cut(text))' is not the name of a variable (letters, digits and _, "
                    + "not beginning with a digit)")
        }
        guard !text.hasPrefix("GREENROOM_") else {
            throw ValueError(message: "\(cut(text)) is reserved: GREENROOM_* is set by the daemon")
        }
        return text
    }

    /// Checks the name of a module or package of any interpreter: `os.path`, `net/http`, `@scope/x`,
    /// `Foo::Bar`.
    static func module(_ text: String) throws(ValueError) -> String {
        let others = Set("_.-/@:+".utf8)
        let isValid =
            !text.isEmpty && text.utf8.first != UInt8(ascii: "-")
            && text.utf8.allSatisfy { isWordByte($0) || others.contains($0) }
        guard isValid else {
            throw ValueError(
                message: "'\(cut(text))' is not the name of a module (letters, digits and "
                    + "_ . - / @ : +, not beginning with -)")
        }
        return text
    }

    static func environmentVariable(_ text: String) throws(ValueError) -> EnvironmentVariable {
        guard let equals = text.firstIndex(of: "=") else {
            throw ValueError(
                message: "'\(cut(text))' does not have the form NAME=value; quote a value that has "
                    + "blanks: \"NAME=two words\"")
        }
        let name = try variable(String(text[..<equals]))
        return EnvironmentVariable(name: name, value: String(text[text.index(after: equals)...]))
    }

    static func path(_ text: String) throws(ValueError) -> String {
        guard text.hasPrefix("/") else {
            throw ValueError(message: "'\(cut(text))' is not an absolute path")
        }
        return try bounded(text)
    }

    /// Checks that a path fits into PATH_MAX (4096 bytes with the final NUL) and has no `..`:
    /// a user who launches an instance of a template chooses a part of its paths (%i, %I), and must
    /// not be able to leave the intended folder.
    static func bounded(_ text: String) throws(ValueError) -> String {
        // Splits by bytes, as the kernel does, because in Swift a slash with a combining mark is
        // not a slash.
        let parts = text.utf8.split(separator: UInt8(ascii: "/"))
        guard !parts.contains(where: { $0.elementsEqual("..".utf8) }) else {
            throw ValueError(message: "'\(cut(text))' contains '..'")
        }
        guard text.utf8.count < 4096 else {
            throw ValueError(message: "the path is longer than 4095 bytes")
        }
        return text
    }

    static func cut(_ text: String) -> String {
        text.count <= 40 ? text : text.prefix(39) + "…"
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    static func isWordByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (97...122).contains(byte | 0x20) || byte == 95
    }
}
