/// The first line of a script: `#!interpreter [one argument]`. execve(2)
struct ScriptLine: Equatable {
    var interpreter: String
    /// Everything after the interpreter, spaces included: Linux passes it as one argument.
    var argument: String?

    /// How many bytes of a file the kernel reads to decide how to run it (`BINPRM_BUF_SIZE`).
    static let byteLimit = 256

    enum Failure: Error {
        case notAScript
        case bad
    }

    /// - Parameter start: the file's first bytes, up to ``byteLimit``.
    init(_ start: [UInt8]) throws(Failure) {
        guard start.starts(with: Array("#!".utf8)) else { throw .notAScript }
        let end = start.firstIndex(of: UInt8(ascii: "\n"))
        let line = start[2..<(end ?? start.count)].prefix { $0 != 0 }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let trimmed = line.drop(while: isBlank)
        let name = trimmed.prefix { !isBlank($0) }
        let isCutOff = end == nil && start.count >= Self.byteLimit
        guard !name.isEmpty, !(isCutOff && name.endIndex == line.endIndex) else { throw .bad }
        interpreter = String(decoding: name, as: UTF8.self)
        var rest = trimmed[name.endIndex...].drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        argument = rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }
}

/// What `env` does with its arguments, in the forms that scripts use: `env COMMAND` and
/// `env -S COMMAND ARGUMENTS…`. env(1)
struct EnvLine: Equatable {
    /// The command and the arguments that come before the script.
    var command: [String]

    /// - Parameter argument: the script line's one argument.
    /// - Returns: nil for any other form. An option that clears the environment would remove the
    ///   preload library, so that the script would run for real. A variable that env sets would be
    ///   lost at the launch.
    init?(_ argument: String?) {
        guard let argument else { return nil }
        guard let list = Self.afterSplitOption(argument) else {
            // Without -S, a blank is part of the command's name.
            guard Self.isPlainCommand(argument) else { return nil }
            command = [argument]
            return
        }
        // Quotes, escapes, ${variables} and other blanks have their own rules.
        guard !list.utf8.contains(where: "\"'\\$#\r\u{b}\u{c}".utf8.contains) else { return nil }
        let words = list.split { $0 == " " || $0 == "\t" }.map(String.init)
        guard let first = words.first, Self.isPlainCommand(first) else { return nil }
        command = words
    }

    private static func afterSplitOption(_ argument: String) -> Substring? {
        for option in ["-S", "--split-string="] where argument.hasPrefix(option) {
            return argument.dropFirst(option.count)
        }
        return nil
    }

    private static func isPlainCommand(_ word: String) -> Bool {
        !word.isEmpty && !word.hasPrefix("-") && !word.contains("=")
    }

    /// Whether the same command is found in every working directory.
    func isFound(alikeFromEverywhere searchPath: String) -> Bool {
        if command[0].contains("/") { return command[0].hasPrefix("/") }
        return searchPath.split(separator: ":", omittingEmptySubsequences: false)
            .allSatisfy { $0.hasPrefix("/") }
    }
}
