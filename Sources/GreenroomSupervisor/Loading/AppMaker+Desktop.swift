internal import AppFolders
internal import DesktopEntry
internal import GreenroomControl
internal import GreenroomManifest

/// What an app takes from its desktop entry.
extension AppMaker {
    /// Nil if the entry makes no app: it is of another type, it is hidden, or its program is not
    /// installed.
    func desktop(
        of manifest: AppManifest, isAlone: Bool
    ) throws(LoadFailure) -> DesktopApp? {
        let needsCommand = manifest.command.isEmpty
        guard let file = cache.entries[manifest.identifier] else { return nil }
        func none(_ reason: String) throws(LoadFailure) -> DesktopApp? {
            if isAlone || !needsCommand { return nil }
            throw LoadFailure(message: "\(file.path) \(reason); set Exec= in [App]")
        }
        let found: DesktopEntry?
        do throws(DesktopEntry.Mistake) {
            found = try DesktopFolders.read(file, locale: Locale(environment: cache.variables))
        } catch {
            if isAlone || !needsCommand { return nil }
            throw LoadFailure(
                message: "\(file.path):\(error.line):\(error.column): \(error.message)")
        }
        guard let entry = found else { return try none("is not an application") }
        if entry.isHidden { return try none("is hidden") }
        if let program = entry.tryExec, cache.find(program) == nil {
            return try none("has a TryExec= that is not installed")
        }
        guard entry.command != nil else { return try none("has no Exec=") }
        let desktops = (cache.variables["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":").map(
            String.init)
        return DesktopApp(
            entry, isCommandUsed: needsCommand, isShown: entry.isShown(in: desktops),
            path: entry.path, digest: file.digest, terminal: { cache.terminal },
            findExecutable: { cache.find($0) })
    }

    func command(_ desktop: DesktopApp) throws(LoadFailure) -> [String]? {
        guard let command = desktop.command else { return nil }
        do throws(DesktopEntry.Command.Refusal) {
            return try command.arguments(
                name: desktop.name, icon: desktop.facts.icon, file: desktop.facts.file)
        } catch {
            throw LoadFailure(message: "\(desktop.facts.file): \(error)")
        }
    }
}
