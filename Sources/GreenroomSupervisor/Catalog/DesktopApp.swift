internal import AppFolders
internal import DesktopEntry
internal import GreenroomControl

/// What launching needs of a desktop entry, resolved when it was read. Shared by all copies of its
/// app.
final class DesktopApp: Sendable {
    struct Action: Sendable {
        let identifier: String
        let name: String
        let command: DesktopEntry.Command?
        /// What is executed, after the search of PATH; nil if it is not there.
        let executablePath: String?
    }

    let name: String
    /// Nil if the manifest has its own `Exec=`.
    let command: DesktopEntry.Command?
    let actions: [Action]
    /// What opens a terminal for a program, and the words before the program's; nil where the
    /// program needs none, or there is none.
    let terminal: [String]?
    let facts: Control.DesktopFacts
    /// `Path=`
    let path: String?
    /// Of the entry's file.
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
    /// Folders `applications`, in order of precedence.
    var paths: [String] = []
    /// Whether each entry makes an app; otherwise only those that a manifest asks for: the system's
    /// daemon would run the others as root.
    var makesApps = false
}
