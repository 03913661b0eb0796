internal import DesktopEntry
internal import GreenroomControl
internal import GreenroomLifecycle

/// What a launch of an app with a desktop entry executes: the entry's command with file names in
/// it, one of the entry's actions, or a terminal that runs either.
struct DesktopLaunch {
    var arguments: [ByteString]
    /// An executable other than the app's; only for an app that is never paused.
    var executablePath: String?

    init(_ call: Control.LaunchCall, of app: InstalledApp) throws(ControlError) {
        guard let desktop = app.desktop else {
            guard call.action == nil else { throw Self.noAction(call, app, []) }
            arguments = Self.plain(call, app)
            return
        }
        var command = desktop.command
        if let name = call.action {
            guard let action = desktop.actions.first(where: { $0.identifier == name }),
                let own = action.command, let path = action.executablePath
            else { throw Self.noAction(call, app, desktop.actions) }
            command = own
            if path != app.program.path { executablePath = path }
        }
        if let command {
            arguments = try Self.arguments(command, call, app, desktop).map(ByteString.text)
        } else {
            arguments = Self.plain(call, app)
        }
        try openTerminal(call, app, desktop)
        guard executablePath == nil || app.program.ineligibility != nil else {
            throw .refused(
                code: "other_program",
                reason:
                    "action \(call.action ?? "") of \(app.identifier) runs another program than "
                    + "the app; that is possible only where the app is not prewarmed")
        }
    }

    private mutating func openTerminal(
        _ call: Control.LaunchCall, _ app: InstalledApp, _ desktop: DesktopApp
    ) throws(ControlError) {
        // A client that brings descriptors has a terminal, or wants none.
        guard desktop.facts.isTerminal, call.standardInput == nil, call.standardOutput == nil else {
            return
        }
        guard app.program.ineligibility != nil, let terminal = desktop.terminal else {
            throw .refused(
                code: "needs_terminal",
                reason: "\(app.identifier) runs in a terminal; start it in one with "
                    + "\"greenroomctl run \(app.identifier)\"")
        }
        let program = terminal + [executablePath ?? app.program.path]
        arguments = program.map(ByteString.text) + arguments.dropFirst()
        executablePath = terminal[0]
    }

    private static func arguments(
        _ command: DesktopEntry.Command, _ call: Control.LaunchCall, _ app: InstalledApp,
        _ desktop: DesktopApp
    ) throws(ControlError) -> [String] {
        let files = call.arguments.compactMap(\.text)
        guard files.count == call.arguments.count else {
            throw .refused(
                code: "not_text",
                reason:
                    "\(app.identifier) opens files by its desktop entry, and the name of one is "
                    + "not UTF-8; rename it, or call the program itself")
        }
        do throws(DesktopEntry.Command.Refusal) {
            return try command.arguments(
                opening: files, name: desktop.name, icon: desktop.facts.icon,
                file: desktop.facts.file)
        } catch {
            switch error {
            case .tooMany:
                throw .refused(
                    code: "too_many_files",
                    reason: "\(app.identifier) opens one file at a time; launch it once for each")
            case .insideText:
                throw .refused(
                    code: "files_in_text",
                    reason: "the Exec= of \(app.identifier)'s desktop entry puts file names into "
                        + "a word that contains blanks, where a name could be run as a command, so "
                        + "the app opens no files")
            case .notLocal(let url):
                throw .refused(
                    code: "not_local",
                    reason: "\(app.identifier) opens local files only, and "
                        + "\(url.cut) is not one")
            }
        }
    }

    /// The words of the manifest, followed by those of the client.
    private static func plain(_ call: Control.LaunchCall, _ app: InstalledApp) -> [ByteString] {
        app.command.arguments.map(ByteString.text) + call.arguments
    }

    private static func noAction(
        _ call: Control.LaunchCall, _ app: InstalledApp, _ actions: [DesktopApp.Action]
    ) -> ControlError {
        let known = actions.map(\.identifier).joined(separator: ", ")
        return .refused(
            code: "no_such_action",
            reason: "\(app.identifier) has no action \((call.action ?? "").cut) that "
                + "can be started"
                + (known.isEmpty ? "" : "; it has \(known)"))
    }
}
