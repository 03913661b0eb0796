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
                needsQuotes = needsQuotes || plain.isEmpty || plain.contains(where: isReserved)
                for character in plain {
                    if "\"`$\\".contains(character) { text += "\\" }
                    text += character == "%" ? "%%" : String(character)
                }
            }
        }
        guard needsQuotes else { return text }
        let hasCode = word.contains { if case .code = $0 { true } else { false } }
        return hasCode ? nil : "\"\(text)\""
    }

    private static func isReserved(_ character: Character) -> Bool {
        " \t\n\r\"'\\><~|&;$*?#()`".contains(character)
    }
}

extension DesktopEntry {
    /// The text written as a value of type string ("Possible value types").
    static func escaped(_ text: String) -> String {
        var value = ""
        for character in text {
            switch character {
            case "\\": value += "\\\\"
            case "\n": value += "\\n"
            case "\t": value += "\\t"
            case "\r": value += "\\r"
            case _: value.append(character)
            }
        }
        return value.hasPrefix(" ") ? "\\s" + value.dropFirst() : value
    }
}
