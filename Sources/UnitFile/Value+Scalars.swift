extension Value {
    /// Reads `1 yes y true t on` or `0 no n false f off`, in upper or lower case (systemd's
    /// parse_boolean).
    public func boolean() throws(ValueError) -> Bool {
        switch text.lowercased() {
        case "1", "yes", "y", "true", "t", "on": return true
        case "0", "no", "n", "false", "f", "off": return false
        default: throw ValueError(message: "'\(shown)' is neither yes nor no")
        }
    }

    /// Reads a decimal integer within bounds.
    public func integer(_ range: ClosedRange<Int>) throws(ValueError) -> Int {
        guard isDigits(text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }),
            let number = Int(text), range.contains(number)
        else {
            throw ValueError(
                message: "'\(shown)' is not a whole number from \(range.lowerBound) "
                    + "to \(range.upperBound)")
        }
        return number
    }

    /// Reads a decimal number such as 4 or 2.5, in hundredths. Further digits are cut off.
    public func hundredths(_ range: ClosedRange<Int>) throws(ValueError) -> Int {
        let wrong = ValueError(
            message: "'\(shown)' is not a number from \(range.lowerBound) to \(range.upperBound), "
                + "such as 4 or 2.5")
        let number = try decimal(text[...].utf8, wrong)
        guard number.length == text.utf8.count, let scaled = number.scaled(by: 100),
            (range.lowerBound * 100...range.upperBound * 100).contains(Int(clamping: scaled))
        else { throw wrong }
        return Int(clamping: scaled)
    }

    /// Reads permission bits in octal, at most 7777.
    public func octalMode() throws(ValueError) -> UInt32 {
        guard isDigits(text.utf8), let mode = UInt32(text, radix: 8), mode <= 0o7777 else {
            throw ValueError(message: "'\(shown)' is not an octal mode such as 0022")
        }
        return mode
    }

    /// Reads one of a set of words, which must be spelled exactly.
    public func choice<Choice: RawRepresentable & CaseIterable>(
        _: Choice.Type = Choice.self
    ) throws(ValueError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: text) else {
            let allowed = Choice.allCases.map(\.rawValue)
            throw ValueError(
                message: "'\(shown)' is not one of \(allowed.joined(separator: ", "))"
                    + suggestion(for: text, among: allowed))
        }
        return choice
    }

    /// Reads a number of bytes with a suffix B, K, M, G, T, P or E to the base 1024
    /// (systemd.syntax(7)).
    ///
    /// Fractions such as `1.5G` are allowed. The result is rounded down.
    public func bytes() throws(ValueError) -> UInt64 {
        let wrong = ValueError(
            message: "'\(shown)' is not a size such as 4096, 512K, 64M or 1.5G")
        let number = try decimal(text[...].utf8, wrong)
        let unit = String(Substring(text.utf8.dropFirst(number.length)).drop { $0 == " " })
        let shifts = ["": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60]
        guard let shift = shifts[unit] else { throw wrong }
        guard let bytes = number.scaled(by: 1 << shift) else {
            throw ValueError(message: "'\(shown)' is more than 16E")
        }
        return bytes
    }

    /// The text, shortened for a message.
    var shown: String { text.count <= 40 ? text : text.prefix(39) + "…" }
}

/// A decimal number with a fraction of at most nine digits.
struct Decimal {
    var whole: UInt64
    var billionths: UInt64
    /// The length of the text in bytes.
    var length: Int

    /// The product, rounded down; nil if it exceeds 64 bits.
    func scaled(by factor: UInt64) -> UInt64? {
        let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
        let (high, low) = billionths.multipliedFullWidth(by: factor)
        // billionths < 10^9, so the quotient fits: high < 10^9.
        let part = UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient
        let (sum, carry) = product.addingReportingOverflow(part)
        return overflow || carry ? nil : sum
    }
}

func isDigits(_ bytes: some Sequence<UInt8>) -> Bool {
    var count = 0
    for byte in bytes {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
        count += 1
    }
    return count > 0
}

/// Reads a number at the start of a text.
func decimal(
    _ text: Substring.UTF8View, _ wrong: ValueError
) throws(ValueError) -> Decimal {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let whole = text.prefix { digits.contains($0) }
    guard let value = UInt64(Substring(whole)) else { throw wrong }
    var length = whole.count
    var billionths: UInt64 = 0
    let rest = text.dropFirst(length)
    if rest.first == UInt8(ascii: ".") {
        let fraction = rest.dropFirst().prefix { digits.contains($0) }
        guard (1...9).contains(fraction.count), let part = UInt64(Substring(fraction)) else {
            throw wrong
        }
        length += 1 + fraction.count
        billionths = (fraction.count..<9).reduce(part) { scaled, _ in scaled * 10 }
    }
    return Decimal(whole: value, billionths: billionths, length: length)
}
