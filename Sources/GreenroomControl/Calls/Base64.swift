/// Bytes in JSON (RFC 4648, section 4).
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    /// The value of each byte of the alphabet; 255 for any other byte.
    private static let values = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
        return values
    }()

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var rest = bytes[...]
        while !rest.isEmpty {
            let group = Array(rest.prefix(3))
            rest = rest.dropFirst(3)
            var value = 0
            for index in 0..<3 { value = value << 8 | Int(index < group.count ? group[index] : 0) }
            for index in 0..<4 {
                let digit = alphabet[value >> (18 - 6 * index) & 63]
                text.append(index <= group.count ? digit : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil for a text that `encode` would not produce.
    static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        let paddingCount = digits.suffix(2).count { $0 == padding }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3)
        var value = 0
        for (index, digit) in digits.enumerated() {
            let isPadding = index >= digits.count - paddingCount
            let bits = isPadding ? 0 : values[Int(digit)]
            guard bits < 64, !isPadding || digit == padding else { return nil }
            value = value << 6 | Int(bits)
            guard index % 4 == 3 else { continue }
            for shift in [16, 8, 0] { bytes.append(UInt8(value >> shift & 255)) }
            value = 0
        }
        guard bytes.suffix(paddingCount).allSatisfy({ $0 == 0 }) else { return nil }
        return bytes.dropLast(paddingCount)
    }
}
