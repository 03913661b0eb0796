extension UnitFile {
    /// The word in the form that a value needs to be read as this word: quoted, with escapes
    /// (systemd.syntax(7), "Quoting"), and with `%` doubled, because specifiers begin with `%`.
    public static func quoted(_ word: String) -> String {
        var text = "\""
        for byte in word.utf8 {
            switch byte {
            case UInt8(ascii: "\""): text += "\\\""
            case UInt8(ascii: "\\"): text += "\\\\"
            case UInt8(ascii: "%"): text += "%%"
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                text += "\\x" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return text + "\""
    }
}
