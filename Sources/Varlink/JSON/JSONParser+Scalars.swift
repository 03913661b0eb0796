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
        var text = ""
        for index in start..<position { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        guard let double = Double(text), double.isFinite else {
            throw JSONSyntaxError(code: .numberOutOfRange, offset: start)
        }
        return .double(double)
    }

    /// True if there was either.
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

    /// From one quotation mark to the other.
    mutating func string(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                defer { position += 1 }
                return try text(bytes.extracting(start..<position), at: start)
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(bytes, from: start) }
            guard byte >= 0x20 else { throw error(.controlCharacter) }
            position += 1
        }
        throw error(.unexpectedEnd)
    }

    private func text(_ bytes: Span<UInt8>, at offset: Int) throws(JSONSyntaxError) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw JSONSyntaxError(
                code: .invalidUTF8, offset: offset + error.byteOffsets.lowerBound)
        }
    }

    /// The string has escapes: it is put together apart.
    private mutating func escapedString(
        _ bytes: Span<UInt8>, from start: Int
    ) throws(JSONSyntaxError) -> String {
        var buffer: [UInt8] = []
        // The first escape stands here: of all that comes before it, one copy.
        unsafe bytes.extracting(start..<position).withUnsafeBufferPointer {
            unsafe buffer.append(contentsOf: $0)
        }
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try text(buffer.span, at: start)
            case UInt8(ascii: "\\"):
                position += 1
                try escape(bytes, into: &buffer)
            case 0..<0x20: throw error(.controlCharacter)
            case _:
                buffer.append(byte)
                position += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    private mutating func escape(
        _ bytes: Span<UInt8>, into buffer: inout [UInt8]
    ) throws(JSONSyntaxError) {
        let byte = try peek(bytes)
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(byte)
        case UInt8(ascii: "b"): buffer.append(0x08)
        case UInt8(ascii: "f"): buffer.append(0x0C)
        case UInt8(ascii: "n"): buffer.append(0x0A)
        case UInt8(ascii: "r"): buffer.append(0x0D)
        case UInt8(ascii: "t"): buffer.append(0x09)
        case UInt8(ascii: "u"): buffer.append(contentsOf: UTF8.encode(try scalar(bytes))!)
        case _:
            position -= 1
            throw error(.malformedEscape)
        }
    }

    /// What follows `\u`, with its second half if it is a pair.
    private mutating func scalar(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        var code = try fourDigits(bytes)
        if 0xD800..<0xDC00 ~= code {
            guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u")
            else { throw JSONSyntaxError(code: .loneSurrogate, offset: start) }
            position += 2
            let low = try fourDigits(bytes)
            guard 0xDC00..<0xE000 ~= low else {
                throw JSONSyntaxError(code: .loneSurrogate, offset: start)
            }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw JSONSyntaxError(code: .loneSurrogate, offset: start)
        }
        return scalar
    }

    private mutating func fourDigits(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch try peek(bytes) {
            case let byte where byte &- UInt8(ascii: "0") < 10: digit = byte - UInt8(ascii: "0")
            case let byte where (byte | 0x20) &- UInt8(ascii: "a") < 6:
                digit = (byte | 0x20) - UInt8(ascii: "a") + 10
            case _: throw error(.malformedEscape)
            }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }
}
