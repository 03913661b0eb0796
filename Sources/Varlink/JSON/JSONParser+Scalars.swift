// Numbers and strings.

extension JSONParser {
    mutating func number(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let first = position
        var magnitude: UInt64 = 0
        var isExact = true
        while position < bytes.count, case let digit = bytes[position] &- UInt8(ascii: "0"),
            digit < 10
        {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            if overflow || carry { isExact = false }
            magnitude = sum
            position += 1
        }
        guard position > first else { throw error(.malformedNumber) }
        guard bytes[first] != UInt8(ascii: "0") || position == first + 1 else {
            throw JSONSyntaxError(code: .malformedNumber, offset: first)
        }
        let isInteger = try !fractionAndExponent(bytes)
        guard position - start <= Self.numberByteLimit else {
            throw JSONSyntaxError(code: .numberTooLong, offset: start)
        }
        if isInteger, isExact {
            if !isNegative, magnitude <= UInt64(Int64.max) { return .integer(Int64(magnitude)) }
            if isNegative, magnitude <= Int64.min.magnitude {
                return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
            }
        }
        try count(Self.otherNumberCost - 1)
        var text = ""
        for index in start..<position { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        guard let double = Double(text), double.isFinite else {
            throw JSONSyntaxError(code: .numberOutOfRange, offset: start)
        }
        return .double(double)
    }

    /// Skips a fraction and an exponent. Returns whether there was any.
    private mutating func fractionAndExponent(
        _ bytes: Span<UInt8>
    ) throws(JSONSyntaxError) -> Bool {
        let start = position
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits(bytes)
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            let sign = try peek(bytes)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
            try digits(bytes)
        }
        return position > start
    }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONSyntaxError) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw error(.malformedNumber) }
    }

    /// Reads a string, from its opening to its closing quotation mark.
    mutating func string(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        position = Self.endOfPlainText(bytes, start)
        switch try peek(bytes) {
        case UInt8(ascii: "\""):
            defer { position += 1 }
            return try text(bytes.extracting(start..<position), at: start)
        case UInt8(ascii: "\\"): return try escapedString(bytes, from: start)
        case _: throw error(.controlCharacter)
        }
    }

    /// The position of the first quotation mark, escape or control character from `start` on, or
    /// the end.
    private static func endOfPlainText(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var index = start
            // Scans eight bytes at a time, as in `InputBuffer`, because most text has none of
            // these.
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let marks = word ^ ones &* UInt64(UInt8(ascii: "\""))
                let escapes = word ^ ones &* UInt64(UInt8(ascii: "\\"))
                let found =
                    (marks &- ones) & ~marks | (escapes &- ones) & ~escapes
                    | (word &- ones &* 0x20) & ~word
                let ends = found & ones << 7
                if ends != 0 { return index + ends.littleEndian.trailingZeroBitCount / 8 }
                index += 8
            }
            while index < bytes.count, case let byte = unsafe bytes[index], byte >= 0x20,
                byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\")
            { index += 1 }
            return index
        }
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }

    private func text(_ bytes: Span<UInt8>, at offset: Int) throws(JSONSyntaxError) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw JSONSyntaxError(
                code: .invalidUTF8, offset: offset + error.byteOffsets.lowerBound)
        }
    }

    /// Reads a string that has escapes. It is assembled separately, in pieces.
    private mutating func escapedString(
        _ bytes: Span<UInt8>, from start: Int
    ) throws(JSONSyntaxError) -> String {
        var whole: [UInt8] = []
        // The first escape is at this position. Everything before it is copied at once.
        Self.append(bytes.extracting(start..<position), to: &whole)
        var piece = InlineArray<256, UInt8>(repeating: 0)
        while true {
            var decoding = EscapedText(position: position)
            var room = piece.mutableSpan
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe room.withUnsafeMutableBufferPointer {
                    unsafe decoding.decode(bytes, into: $0)
                }
            }
            position = decoding.position
            Self.append(piece.span.extracting(first: decoding.count), to: &whole)
            if let code = decoding.error { throw error(code) }
            guard position < bytes.count else { throw error(.unexpectedEnd) }
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                return try text(whole.span, at: start)
            }
            let end = Self.endOfPlainText(bytes, position)
            Self.append(bytes.extracting(position..<end), to: &whole)
            position = end
        }
    }

    private static func append(_ piece: Span<UInt8>, to whole: inout [UInt8]) {
        unsafe piece.withUnsafeBufferPointer { unsafe whole.append(contentsOf: $0) }
    }
}

/// A piece of a string that has escapes. A message may have millions of escapes, so nothing in here
/// throws or keeps state in memory, and a long run of plain characters is left to the caller, which
/// is faster at that.
private struct EscapedText {
    private(set) var position: Int
    /// The number of bytes written.
    private(set) var count = 0
    private(set) var error: JSONSyntaxError.Code?

    /// The longest run of plain characters that is still handled here.
    private static let runLimit = 8

    init(position: Int) { self.position = position }

    /// Decodes until the piece is full, the string ends, or plain text begins.
    mutating func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, into piece: UnsafeMutableBufferPointer<UInt8>
    ) {
        var (index, count, run) = (position, 0, 0)
        defer { (position, self.count) = (index, count) }
        while index < bytes.count, count <= piece.count - 4, run < Self.runLimit {
            let byte = unsafe bytes[index]
            if byte != UInt8(ascii: "\\") {
                if byte == UInt8(ascii: "\"") { return }
                guard byte >= 0x20 else { return error = .controlCharacter }
                unsafe piece[count] = byte
                (count, index, run) = (count + 1, index + 1, run + 1)
                continue
            }
            run = 0
            guard index + 1 < bytes.count else {
                index = bytes.count
                return error = .unexpectedEnd
            }
            let letter = unsafe bytes[index + 1]
            if letter != UInt8(ascii: "u") {
                guard let meant = Self.meaning(of: letter) else {
                    index += 1
                    return error = .malformedEscape
                }
                unsafe piece[count] = meant
                (count, index) = (count + 1, index + 2)
                continue
            }
            index += 2
            guard var code = unsafe fourDigits(bytes, &index) else { return }
            if code & 0xF800 == 0xD800 {
                let start = index - 4
                guard code < 0xDC00, index + 1 < bytes.count,
                    unsafe bytes[index] == UInt8(ascii: "\\"),
                    unsafe bytes[index + 1] == UInt8(ascii: "u")
                else {
                    index = start
                    return error = .loneSurrogate
                }
                index += 2
                guard let low = unsafe fourDigits(bytes, &index) else { return }
                guard low & 0xFC00 == 0xDC00 else {
                    index = start
                    return error = .loneSurrogate
                }
                code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
            }
            unsafe Self.encode(code, piece, &count)
        }
    }

    @inline(__always)
    private static func meaning(of letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case _: nil
        }
    }

    /// Reads four hexadecimal digits. If they are not there, sets `error` and returns nil.
    @inline(__always)
    private mutating func fourDigits(
        _ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int
    ) -> UInt32? {
        var code: UInt32 = 0
        let end = index + 4
        while index < end {
            guard index < bytes.count else {
                error = .unexpectedEnd
                return nil
            }
            let byte = unsafe bytes[index]
            let digit = byte &- UInt8(ascii: "0")
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            guard digit < 10 || letter < 6 else {
                error = .malformedEscape
                return nil
            }
            code = code << 4 | UInt32(digit < 10 ? digit : letter + 10)
            index += 1
        }
        return code
    }

    /// Writes the scalar in UTF-8. The piece must have room for it.
    @inline(__always)
    private static func encode(
        _ code: UInt32, _ piece: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int
    ) {
        func put(_ lead: UInt32, _ shift: UInt32) {
            unsafe piece[count] = UInt8(truncatingIfNeeded: lead | code >> shift)
            count += 1
        }
        func tail(_ shift: UInt32) {
            unsafe piece[count] = UInt8(truncatingIfNeeded: 0x80 | code >> shift & 0x3F)
            count += 1
        }
        switch code {
        case ..<0x80: put(0, 0)
        case ..<0x800:
            put(0xC0, 6)
            tail(0)
        case ..<0x10000:
            put(0xE0, 12)
            tail(6)
            tail(0)
        default:
            put(0xF0, 18)
            tail(12)
            tail(6)
            tail(0)
        }
    }
}
