extension DesktopEntry.Command {
    /// At most this many words in a command.
    static let wordLimit = 256

    /// Why a value of `Exec=` cannot be used.
    struct Fault: Error { var message: String }

    /// Splits a value ("The Exec key"). The escapes of the string type must be resolved already.
    ///
    /// The specification allows only double quotes. Single quotes, and a backslash outside of
    /// quotes, are interpreted as in a shell, because many entries have them.
    init(parsing value: String) throws(Fault) {
        var splitter = Splitter(value)
        words = try splitter.split()
        try check()
    }

    private func check() throws(Fault) {
        guard words.count <= Self.wordLimit else {
            throw Fault(message: "more than \(Self.wordLimit) words")
        }
        guard case .text(let program)? = words.first?.first, words[0].count == 1, !program.isEmpty
        else { throw Fault(message: "the program is missing") }
        guard !program.contains("=") else { throw Fault(message: "a program has no = in its name") }
        let codes = words.joined().filter {
            if case .code(let code) = $0 { code.takesFiles } else { false }
        }
        guard codes.count <= 1 else {
            throw Fault(message: "only one of %f, %F, %u and %U is allowed")
        }
        for word in words where word.count > 1 {
            guard !word.contains(.code(.files)), !word.contains(.code(.urls)) else {
                throw Fault(message: "%F and %U must be words of their own")
            }
        }
    }

    /// The program as the entry writes it.
    public var program: String {
        if case .text(let program)? = words.first?.first { program } else { "" }
    }
}

/// Divides a command into words, and words into texts and field codes.
private struct Splitter {
    typealias Fault = DesktopEntry.Command.Fault

    private var scalars: String.UnicodeScalarView.Iterator
    private var words: [[DesktopEntry.Command.Piece]] = []
    private var word: [DesktopEntry.Command.Piece] = []
    private var text = ""
    /// Whether a word has begun. The word may be empty (`""`).
    private var isOpen = false
    private var quote: Unicode.Scalar?

    init(_ value: String) { scalars = value.unicodeScalars.makeIterator() }

    mutating func split() throws(Fault) -> [[DesktopEntry.Command.Piece]] {
        while let scalar = scalars.next() {
            switch scalar {
            case "\\" where quote != "'": try takeEscaped()
            case "\"", "'": takeQuote(scalar)
            case " " where quote == nil, "\t" where quote == nil, "\n" where quote == nil: endWord()
            case "%": try takeCode()
            case _: take(scalar)
            }
        }
        if let quote { throw Fault(message: "a \(quote) is never closed") }
        endWord()
        return words
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        text.unicodeScalars.append(scalar)
        isOpen = true
    }

    private mutating func takeEscaped() throws(Fault) {
        guard let next = scalars.next() else {
            throw Fault(message: "nothing follows the last \\")
        }
        if quote == "\"", !"\"`$\\".unicodeScalars.contains(next) { text.append("\\") }
        take(next)
    }

    private mutating func takeQuote(_ mark: Unicode.Scalar) {
        if quote == nil {
            quote = mark
            isOpen = true
        } else if quote == mark {
            quote = nil
        } else {
            take(mark)
        }
    }

    private mutating func takeCode() throws(Fault) {
        guard let letter = scalars.next() else {
            throw Fault(message: "nothing follows the last %; a percent sign is %%")
        }
        if letter == "%" {
            take("%")
        } else if let code = DesktopEntry.Command.Code(rawValue: Character(letter)) {
            endText()
            word.append(.code(code))
            isOpen = true
        } else if !"dDnNvm".unicodeScalars.contains(letter) {
            // These codes are deprecated and have no value.
            throw Fault(message: "%\(letter) is not a field code")
        }
    }

    private mutating func endText() {
        if !text.isEmpty { word.append(.text(text)) }
        text = ""
    }

    private mutating func endWord() {
        endText()
        if isOpen { words.append(word) }
        (word, isOpen) = ([], false)
    }
}
