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
        /// This action is started only over D-Bus.
        case actionHasNoCommand(String)
    }

    public init(of entry: DesktopEntry) throws(Refusal) {
        guard var command = entry.command else { throw .hasNoCommand }
        // The copy is not activated over D-Bus.
        if entry.isDBusActivatable, let action = entry.actions.first(where: { $0.command == nil }) {
            throw .actionHasNoCommand(action.identifier)
        }
        // A launcher replaces %i with two words, or with none, and %k with the copy's path.
        command.words = command.words.flatMap { word in
            guard word == [.code(.icon)] else {
                return [word.map { $0 == .code(.entry) ? .text(entry.file) : $0 }]
            }
            let icon = entry.icon ?? ""
            return icon.isEmpty ? [] : [[.text("--icon")], [.text(icon)]]
        }
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
        for bytes in original.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        {
            let line = String(decoding: bytes, as: UTF8.self)
            let content = DesktopEntry.trimmed(line[...])
            if content.hasPrefix("[") { isMain = content == "[Desktop Entry]" }
            if isMain, Self.replaced.contains(Self.key(of: content)) { continue }
            result += line + "\n"
            guard isMain, content.hasPrefix("[") else { continue }
            result += "Exec=\(exec)\n"
            result += "\(Self.originalKey)=\(DesktopEntry.escaped(entry.file))\n"
        }
        while result.hasSuffix("\n\n") { result.removeLast() }
        return result
    }

    /// Greenroom's arguments of the other program, which come before the app's identifier.
    public static let verb = ["desktop", "run"]

    /// The key of a copy that names the original's file. Programs that edit entries keep it.
    static let originalKey = "X-Greenroom-Original"

    /// The keys of the original that are left out. D-Bus activation would bypass the other program.
    private static let replaced = ["Exec", "DBusActivatable"]

    private static func key(of line: Substring) -> String {
        String(line.prefix { $0 != "=" && $0 != " " && $0 != "\t" })
    }
}

extension DesktopEntry {
    /// The app that this entry starts if it is a copy of an entry (``Redirection``); nil if it is none,
    /// or if somebody has given the copy another command.
    public var redirectedApp: String? {
        guard original != nil, let command else { return nil }
        let words = command.words.map { word -> String? in
            guard word.count == 1, case .text(let text) = word[0] else { return nil }
            return text
        }
        let isVerb = { (start: Int) in
            Array(words[start..<start + 2]) == Redirection.verb && words[start + 3] == "--before"
        }
        return words.indices.dropLast(3).first(where: isVerb).flatMap { words[$0 + 2] }
    }
}
