/// Makes a file URL from a path. A text with a scheme stays as it is (RFC 3986, RFC 8089).
enum DocumentURL {
    static func isURL(_ text: String) -> Bool {
        let scheme = text.prefix { $0 != ":" }
        return scheme.count < text.count && scheme.first?.isLetter == true
            && scheme.utf8.allSatisfy {
                0x30...0x39 ~= $0 || 0x61...0x7a ~= $0 | 0x20 || "+-.".utf8.contains($0)
            }
    }

    static func url(_ text: String) -> String {
        if isURL(text) { return text }
        return "file://" + absolute(text).utf8.map(escaped).joined()
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : (Caller.currentPath() ?? "") + "/" + path
    }

    private static func escaped(_ byte: UInt8) -> String {
        let isPlain =
            0x30...0x39 ~= byte || 0x41...0x5a ~= byte || 0x61...0x7a ~= byte
            || "-._~/".utf8.contains(byte)
        if isPlain { return String(UnicodeScalar(byte)) }
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.utf8.count < 2 ? "0" : "") + digits
    }
}
