internal import AppFolders
internal import DesktopEntry
internal import GreenroomControl

/// What a launch needs from a desktop entry, resolved when the entry was read.
final class DesktopApp: Sendable {
    struct Action: Sendable {
        let identifier: String
        let name: String
        let command: DesktopEntry.Command?
        /// The path of the executable, after the search of PATH; nil if it does not exist.
        let executablePath: String?
    }

    let name: String
    /// Nil if the manifest has its own `Exec=`.
    let command: DesktopEntry.Command?
    let actions: [Action]
    /// The command that opens a terminal for the program, as the words before the program's own.
    /// Nil if the program needs no terminal, or if none is installed.
    let terminal: [String]?
    let facts: Control.DesktopFacts
    /// `Path=`
    let path: String?
    /// The digest of the entry's file.
    let digest: UInt64

    init(
        _ entry: DesktopEntry, isCommandUsed: Bool, isShown: Bool, path: String?, digest: UInt64,
        terminal: () -> [String]?, findExecutable: (String) -> String?
    ) {
        name = entry.name
        command = isCommandUsed ? entry.command : nil
        actions = entry.actions.map { action in
            let program = action.command?.program
            return Action(
                identifier: action.identifier, name: action.name, command: action.command,
                executablePath: program.flatMap {
                    $0.hasPrefix("/") ? $0 : findExecutable($0)
                })
        }
        var facts = Control.DesktopFacts(file: entry.file)
        facts.isShown = isShown
        facts.isTerminal = entry.isTerminal && isCommandUsed
        facts.isDBusActivatable = entry.isDBusActivatable
        facts.icon = entry.icon
        facts.startupWMClass = entry.startupWMClass
        facts.actions = entry.actions.map { .init(identifier: $0.identifier, name: $0.name) }
        self.facts = facts
        self.digest = digest
        self.path = path.flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.terminal = facts.isTerminal ? terminal() : nil
    }
}

/// Where desktop entries come from.
struct DesktopSource: Sendable, Equatable {
    /// The folders named `applications`, in order of precedence.
    var paths: [String] = []
    /// True if every entry makes an app. Otherwise an entry makes an app only if a manifest asks
    /// for it, because the system's daemon would run all others as root.
    var makesApps = false
}
