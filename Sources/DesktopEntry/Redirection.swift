/// A copy of an entry that has another program start the app, for launchers that read entries and
/// know nothing of a daemon.
///
/// The other program gets the command that the entry itself gives, with the files to open in it, so
/// that it can execute that; and it is told which of the words are those files. A shell looks
/// whether the other program is still installed, because the copy takes the place of the entry, and
/// the app must start without it, too.
public struct Redirection {
    /// How many words of the command come before the files to open, and how many after them.
    public let before: Int, after: Int
    private let direct: DesktopEntry.Command
    private let entry: DesktopEntry

    /// Why an entry cannot have such a copy.
    public enum Refusal: Error, Hashable, Sendable {
        /// The app is started only over D-Bus.
        case hasNoCommand
        /// The files are not words of their own (`--open=%f`).
        case filesInWord
    }

    public init(of entry: DesktopEntry) throws(Refusal) {
        guard var command = entry.command else { throw .hasNoCommand }
        // A launcher makes two words of it, or none.
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

    /// The text of the copy: all of the original but how it is started.
    ///
    /// - Parameters:
    ///   - original: the entry's text.
    ///   - note: a comment, which becomes the first line.
    ///   - words: the other program and its arguments, which the command's words follow.
    /// - Returns: nil if the command cannot be written.
    public func text(_ original: [UInt8], note: String, through words: [String]) -> String? {
        // The number of the other program's arguments comes before them.
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
            // Without the app, launchers shall not show it.
            let program = entry.tryExec ?? entry.command?.program ?? ""
            result += "TryExec=\(DesktopEntry.escaped(program))\n"
        }
        while result.hasSuffix("\n\n") { result.removeLast() }
        return result
    }

    /// Calls over D-Bus would go past the other program.
    private static let replaced = ["Exec", "TryExec", "DBusActivatable"]

    private static func key(of line: Substring) -> String {
        String(line.prefix { $0 != "=" && $0 != " " && $0 != "\t" })
    }
}
