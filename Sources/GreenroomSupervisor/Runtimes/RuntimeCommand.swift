/// A command line of an interpreter, divided where its program begins.
struct RuntimeCommand: Hashable, Sendable {
    /// The first word, and the options before the program.
    let boot: [String]
    /// The words from the program on; empty if the command does not name one.
    let program: [String]
    /// The script, the module that `-m` names, or the archive that `-jar` names; empty if there is
    /// none.
    var programName: String { program.first { !Self.optionsOfProgram.contains($0) } ?? "" }
    /// Options of Python, Java and Emacs that stand before the program's name and do not belong to
    /// the boot.
    private static let optionsOfProgram: Set<String> = [
        "-m", "-jar", "-l", "-load", "--load", "-script", "--script",
    ]

    /// Why an interpreter with this command line cannot pause after its boot.
    enum Objection: Error, Hashable {
        /// The option makes the interpreter skip the daemon's file, print at the boot, or read its
        /// program in another way.
        case option(String)
        /// Without the option, the interpreter does at its boot what a launch would have to repeat.
        case missing(String)
        /// The interpreter needs its program for the boot, and the command names none.
        case noProgram
        /// The program's path is relative to the caller's directory.
        case relative(String)
    }

    init(_ words: [String], of runtime: Runtime) throws(Objection) {
        var reader = OptionReader(words)
        try runtime.readOptions(&reader)
        boot = Array(words[..<reader.index])
        program = Array(words[reader.index...])
        if runtime == .java, program.isEmpty { throw .noProgram }
    }
}

/// Goes through the options of a command line.
struct OptionReader {
    private let words: [String]
    /// The word after those that were read.
    private(set) var index: Int

    init(_ words: [String]) {
        self.words = words
        index = min(1, words.count)
    }

    /// The next word, if it may be an option. A single `-` is the program on standard input.
    var option: String? {
        guard index < words.count else { return nil }
        let word = words[index]
        return word.hasPrefix("-") && word != "-" ? word : nil
    }

    mutating func take() { index += 1 }

    /// Takes an option and the word after it, which must be there.
    mutating func takePair() throws(RuntimeCommand.Objection) -> String {
        guard index + 1 < words.count else { throw .option(words[index]) }
        index += 2
        return words[index - 1]
    }
}
