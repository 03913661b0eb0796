extension DesktopEntry.Command {
    /// What one command may have at most.
    static let wordLimit = 256

    /// Why a value of `Exec=` cannot be used.
    struct Fault: Error { var message: String }

    /// Splits a value whose escapes of the string type are resolved ("The Exec key").
    ///
    /// The specification allows double quotes alone; single ones and a backslash outside of quotes
    /// are understood as a shell does, because many entries have them.
    init(parsing value: String) throws(Fault) {
        words = []
        var word: [Piece] = []
        var text = ""
        var isOpen = false
        var quote: Character?
        var characters = value.makeIterator()

        func endText() {
            if !text.isEmpty { word.append(.text(text)) }
            text = ""
        }
        while let character = characters.next() {
            switch character {
            case "\\" where quote != "'":
                guard let next = characters.next() else {
                    throw Fault(message: "nothing follows the last \\")
                }
                isOpen = true
                if quote == "\"", !"\"`$\\".contains(next) { text.append("\\") }
                text.append(next)
            case "\"", "'":
                if quote == nil {
                    quote = character
                    isOpen = true
                } else if quote == character {
                    quote = nil
                } else {
                    text.append(character)
                }
            case " " where quote == nil, "\t" where quote == nil, "\n" where quote == nil:
                endText()
                if isOpen { words.append(word) }
                (word, isOpen) = ([], false)
            case "%":
                guard let letter = characters.next() else {
                    throw Fault(message: "nothing follows the last %; a percent sign is %%")
                }
                if letter == "%" {
                    text.append("%")
                    isOpen = true
                } else if let code = Code(rawValue: letter) {
                    endText()
                    word.append(.code(code))
                    isOpen = true
                } else if !"dDnNvm".contains(letter) {
                    // Those are deprecated and stand for nothing.
                    throw Fault(message: "%\(letter) is no field code")
                }
            case _:
                text.append(character)
                isOpen = true
            }
        }
        if let quote { throw Fault(message: "a \(quote) is never closed") }
        endText()
        if isOpen { words.append(word) }
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
            throw Fault(message: "only one of %f, %F, %u and %U may be there")
        }
        for word in words where word.count > 1 {
            guard !word.contains(.code(.files)), !word.contains(.code(.urls)) else {
                throw Fault(message: "%F and %U must be words of their own")
            }
        }
    }

    /// The program, as it is written.
    public var program: String {
        if case .text(let program)? = words.first?.first { program } else { "" }
    }
}
