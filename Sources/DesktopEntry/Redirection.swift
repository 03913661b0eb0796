/// A copy of an entry that makes another program start the app. It is for launchers that read
/// entries and do not know the daemon.
///
/// The other program gets the entry's own command, including the files to open, so that it can
/// execute that command. It is also told which of the words are files. A shell checks whether the
/// other program is still installed, because the copy replaces the entry, and the app must start
/// without the other program too.
public struct Redirection {
    /// How many words of the command come before the files to open, and how many after them.
    public let before: Int, after: Int
    private let direct: DesktopEntry.Command
    private let entry: DesktopEntry

    /// Why no such copy of an entry can be made.
    public enum Refusal: Error, Hashable, Sendable {
        /// The app is started only over D-Bus.
        case hasNoCommand
        /// The files are not separate words (`--open=%f`).
        case filesInWord
    }

    public init(of entry: DesktopEntry) throws(Refusal) {
        guard var command = entry.command else { throw .hasNoCommand }
        // A launcher replaces %i with two words, or with none.
        command.words.removeAll { $0 == [.code(.icon)] }
        let place = command.words.firstIndex { word in
            word.contains { if case .code(let code) = $0 { code.takesFiles } else { false } }
        }
        if let place {
            guard command.words[place].count == 1 else { throw .filesInWord }
            (before, after) = (place, command.words.count - place - 1)
        } else {
            (before, after) = (command.words.count, 0)
        }
        direct = command
        self.entry = entry
    }

    /// The text of the copy: the original with another command.
    ///
    /// - Parameters:
    ///   - original: the entry's text.
    ///   - note: a comment, which becomes the first line.
    ///   - words: the other program and its arguments. The command's words follow them.
    /// - Returns: nil if the command cannot be written.
    public func text(_ original: [UInt8], note: String, through words: [String]) -> String? {
        // The number of the other program's arguments is passed before them.
        let script = #"n=$1; shift; [ -x "$0" ] && exec "$0" "$@"; shift "$n"; exec "$@""#
        var command = direct
        let ownWords = [words[0], "\(words.count - 1)"] + words.dropFirst()
        command.words.insert(
            contentsOf: (["/bin/sh", "-c", script] + ownWords).map { [.text($0)] }, at: 0)
        guard let exec = command.text else { return nil }
        var result = "# \(note)\n"
        var isMain = false
        for line in String(decoding: original, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.first == "[" { isMain = line.hasPrefix("[Desktop Entry]") }
            if isMain, Self.replaced.contains(Self.key(of: line)) { continue }
            result += line + "\n"
            guard isMain, line.hasPrefix("[Desktop Entry]") else { continue }
            result += "Exec=\(exec)\n"
            // If the app is not installed, launchers should not show it.
            let program = entry.tryExec ?? entry.command?.program ?? ""
            result += "TryExec=\(DesktopEntry.escaped(program))\n"
        }
        while result.hasSuffix("\n\n") { result.removeLast() }
        return result
    }

    /// The keys of the original that are left out. D-Bus activation would bypass the other program.
    private static let replaced = ["Exec", "TryExec", "DBusActivatable"]

    private static func key(of line: Substring) -> String {
        String(line.prefix { $0 != "=" && $0 != " " && $0 != "\t" })
    }
}
