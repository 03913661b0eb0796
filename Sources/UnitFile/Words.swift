/// One word of a list or a command line.
public struct Word: Hashable, Sendable {
    /// The word without quotes and with escapes resolved.
    public var text: String
    /// The offset of its beginning, in bytes of the value's text.
    public var offset: Int

    public init(text: String, offset: Int) {
        self.text = text
        self.offset = offset
    }
}

extension Value {
    /// Splits the value at blanks, with quotes and C-style escapes (systemd.syntax(7), "Quoting").
    ///
    /// `"` and `'` group words and may be anywhere in a word. Both inside and outside of them, `\`
    /// begins an escape: `\a \b \f \n \r \t \v \\ \" \' \s` (a blank), `\xHH`, `\NNN` octal,
    /// `\uHHHH`, `\UHHHHHHHH`. There are no `%` specifiers and no variables. An unknown escape is
    /// an error, so that somebody who wrote `C:\docs` is told.
    public func words() throws(ValueError) -> [Word] {
        var splitter = Splitter(bytes: Array(text.utf8))
        return try splitter.split()
    }
}

private struct Splitter {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func split() throws(ValueError) -> [Word] {
        var words: [Word] = []
        while true {
            while index < bytes.count, isBlank(bytes[index]) { index += 1 }
            guard index < bytes.count else { return words }
            words.append(try word())
        }
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    private mutating func word() throws(ValueError) -> Word {
        let start = index
        var result: [UInt8] = []
        /// The open quotation mark and its offset.
        var quote: (mark: UInt8, offset: Int)?
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\\") {
                try escape(into: &result)
                continue
            }
            if let open = quote {
                if byte == open.mark { quote = nil } else { result.append(byte) }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = (byte, index)
            } else if isBlank(byte) {
                break
            } else {
                result.append(byte)
            }
            index += 1
        }
        if let quote {
            throw ValueError(
                offset: quote.offset,
                message: "this \(Unicode.Scalar(quote.mark)) is never closed")
        }
        guard let text = String(validating: result, as: UTF8.self) else {
            throw ValueError(offset: start, message: "the escapes of this word do not make UTF-8")
        }
        return Word(text: text, offset: start)
    }

    /// Reads an escape, at its backslash.
    private mutating func escape(into result: inout [UInt8]) throws(ValueError) {
        let start = index
        index += 1
        guard index < bytes.count else {
            throw ValueError(offset: start, message: "nothing follows this \\; a backslash is \\\\")
        }
        let letter = bytes[index]
        index += 1
        switch letter {
        case UInt8(ascii: "a"): result.append(7)
        case UInt8(ascii: "b"): result.append(8)
        case UInt8(ascii: "f"): result.append(12)
        case UInt8(ascii: "n"): result.append(10)
        case UInt8(ascii: "r"): result.append(13)
        case UInt8(ascii: "t"): result.append(9)
        case UInt8(ascii: "v"): result.append(11)
        case UInt8(ascii: "s"): result.append(32)
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): result.append(letter)
        case UInt8(ascii: "x"):
            result.append(UInt8(try number(start, digits: 2, radix: 16, limit: 255)))
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            index -= 1
            result.append(UInt8(try number(start, digits: 3, radix: 8, limit: 255)))
        case UInt8(ascii: "u"):
            try scalar(start, digits: 4, into: &result)
        case UInt8(ascii: "U"):
            try scalar(start, digits: 8, into: &result)
        default:
            var end = index
            while end < bytes.count, bytes[end] & 0xc0 == 0x80 { end += 1 }
            let shown = String(decoding: bytes[start..<end], as: UTF8.self)
            throw ValueError(
                offset: start, message: "'\(shown)' is not an escape; a backslash is \\\\")
        }
    }

    private mutating func scalar(
        _ start: Int, digits: Int, into result: inout [UInt8]
    ) throws(ValueError) {
        let value = try number(start, digits: digits, radix: 16, limit: 0x10_ffff)
        guard let scalar = Unicode.Scalar(value) else {
            throw ValueError(offset: start, message: "this escape is not a Unicode character")
        }
        result += Array(String(Character(scalar)).utf8)
    }

    /// Reads exactly `digits` digits. The number must not be 0, because no argument or variable can
    /// contain that byte.
    private mutating func number(
        _ start: Int, digits: Int, radix: Int, limit: UInt32
    ) throws(ValueError) -> UInt32 {
        let text = String(decoding: bytes[index..<min(index + digits, bytes.count)], as: UTF8.self)
        guard text.utf8.count == digits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let value = UInt32(text, radix: radix)
        else {
            throw ValueError(
                offset: start,
                message:
                    "this escape needs \(digits) \(radix == 8 ? "octal" : "hexadecimal") digits"
            )
        }
        guard (1...limit).contains(value) else {
            throw ValueError(
                offset: start,
                message: value == 0 ? "no text can hold NUL" : "this escape is too large"
            )
        }
        index += digits
        return value
    }
}
