extension DesktopEntry.Command {
    /// A value of `Exec=` that means this command ("The Exec key"); nil if a field code is part of
    /// a word that needs quotes, because codes have no meaning inside quotes.
    public var text: String? {
        var texts: [String] = []
        for word in words {
            guard let text = Self.text(of: word) else { return nil }
            texts.append(text)
        }
        return DesktopEntry.escaped(texts.joined(separator: " "))
    }

    private static func text(of word: [Piece]) -> String? {
        var text = ""
        var needsQuotes = word.isEmpty
        for piece in word {
            switch piece {
            case .code(let code): text += "%\(code.rawValue)"
            case .text(let plain):
                needsQuotes =
                    needsQuotes || plain.isEmpty || plain.unicodeScalars.contains(where: isReserved)
                for scalar in plain.unicodeScalars {
                    if "\"`$\\".unicodeScalars.contains(scalar) { text += "\\" }
                    text.unicodeScalars.append(scalar)
                    if scalar == "%" { text += "%" }
                }
            }
        }
        guard needsQuotes else { return text }
        let hasCode = word.contains { if case .code = $0 { true } else { false } }
        return hasCode ? nil : "\"\(text)\""
    }

    private static func isReserved(_ scalar: Unicode.Scalar) -> Bool {
        " \t\n\r\"'\\><~|&;$*?#()`".unicodeScalars.contains(scalar)
    }
}

extension DesktopEntry {
    /// The text written as a value of type string ("Possible value types").
    static func escaped(_ text: String) -> String {
        var value = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": value += "\\\\"
            case "\n": value += "\\n"
            case "\t": value += "\\t"
            case "\r": value += "\\r"
            case _: value.unicodeScalars.append(scalar)
            }
        }
        return value.unicodeScalars.first == " "
            ? "\\s" + String(value.unicodeScalars.dropFirst()) : value
    }
}
