// Text on a terminal: how many cells it takes, and characters that must not reach the terminal.

extension Character {
    /// How many cells of a terminal the character takes: 0, 1 or 2 (Unicode Standard Annex 11).
    /// wcwidth(3) knows only the locale's characters, and a static program has no locales.
    var cellCount: Int {
        var count = 0
        for scalar in unicodeScalars {
            if scalar == "\u{FE0F}" { return 2 }
            count = max(count, scalar.cellCount)
        }
        return count
    }
}

extension Unicode.Scalar {
    fileprivate var cellCount: Int {
        if isASCII { return value < 0x20 || value == 0x7F ? 0 : 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .spacingMark, .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation,
            .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
            .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol,
            .otherSymbol, .spaceSeparator, .lineSeparator, .paragraphSeparator, .surrogate,
            .privateUse, .unassigned:
            break
        @unknown default: break
        }
        return isWide || properties.isEmojiPresentation ? 2 : 1
    }

    /// Whether the character is East Asian Wide or Fullwidth, by blocks.
    private var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
            0x1F200...0x1F2FF, 0x20000...0x3FFFD:
            true
        case _: false
        }
    }

    /// Whether the character would move the cursor, begin an escape sequence, or change the
    /// direction of the text after it.
    fileprivate var isHarmful: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        case _: false
        }
    }
}

extension String {
    /// How many cells of a terminal the text takes.
    var cellCount: Int { reduce(0) { $0 + $1.cellCount } }

    /// The text with control characters, and characters that change the direction of text, escaped
    /// so that they are visible and have no effect.
    var harmless: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where !scalar.isHarmful: result.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x100: result += "\\x" + scalar.hexadecimal(2)
            case _: result += "\\u" + scalar.hexadecimal(4)
            }
        }
        return result
    }

    /// A JSON text with the same characters written as numbers, which JSON allows.
    var harmlessJSON: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if scalar.isHarmful {
                result += "\\u" + scalar.hexadecimal(4)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Shortens the text to at most `limit` cells by leaving out its middle, because identifiers
    /// differ at their ends.
    func ellipsized(to limit: Int) -> String {
        guard limit > 0, cellCount > limit else { return self }
        let head = prefix(cells: limit / 2)
        let tail = String(String(reversed()).prefix(cells: limit - 1 - head.cellCount).reversed())
        return head + "…" + tail
    }

    private func prefix(cells limit: Int) -> String {
        var cells = 0
        return String(
            prefix { character in
                cells += character.cellCount
                return cells <= limit
            })
    }
}

extension Unicode.Scalar {
    fileprivate func hexadecimal(_ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
