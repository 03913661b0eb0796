internal import ApplicationKit
internal import Glibc

/// A terminal that shows notes.
final class NotesScene: SceneDelegate {
    private var terminal: Terminal?
    /// Whether the next line is a new note.
    private var isWriting = false
    /// The number of the note on the screen.
    private var shown: Int?
    /// Whether the scene was connected for a request, so that it does not restore its state.
    private var isAsked = false

    func scene(
        _ scene: Scene, willConnectTo session: SceneSession, options: Scene.ConnectionOptions
    ) {
        isAsked = !options.isEmpty
        for context in options.urlContexts { open(context.url) }
        if let item = options.shortcutItem { _ = perform(item.type) }
    }

    func stateRestorationActivity(for scene: Scene) -> UserActivity? {
        var activity = UserActivity(activityType: "io.greenroom.Notes.reading")
        activity.userInfo["note"] = shown.map(String.init)
        if isWriting { activity.userInfo["writing"] = "yes" }
        return activity
    }

    func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity) {
        guard !isAsked else { return }
        if let note = activity.userInfo["note"] { show(Substring(note)) }
        if activity.userInfo["writing"] != nil { startWriting() }
    }

    /// The active scene gets the lines that the user types.
    func sceneDidBecomeActive(_ scene: Scene) {
        terminal = Terminal { [unowned self] in take($0) }
        if !isWriting { Terminal.say("Notes. 'help' lists the commands.") }
        scene.didDrawFirstFrame()
    }

    func sceneDidEnterBackground(_ scene: Scene) { NotesApp.store.save() }

    func sceneWillResignActive(_ scene: Scene) { terminal = nil }

    func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext]) {
        for context in urlContexts { open(context.url) }
    }

    func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) { completionHandler(perform(shortcutItem.type)) }

    // MARK: Requests

    private func open(_ url: String) {
        let place = url.drop { $0 != ":" }.dropFirst().drop { $0 == "/" }
        if place == "new" { startWriting() } else { show(place) }
    }

    private func perform(_ action: String) -> Bool {
        guard action == "new-note" else { return false }
        startWriting()
        return true
    }

    private func take(_ line: String) {
        if isWriting {
            isWriting = false
            return add(line)
        }
        let word = line.prefix { $0 != " " }
        let rest = line.dropFirst(word.count + 1)
        switch word {
        case "": break
        case "list": list()
        case "show": show(rest)
        case "new": if rest.isEmpty { startWriting() } else { add(String(rest)) }
        case "delete": delete(rest)
        case "quit": exit(0)
        default: Terminal.say("list | show NUMBER | new [TEXT] | delete NUMBER | quit")
        }
    }

    private func startWriting() {
        isWriting = true
        Terminal.say("New note, one line:")
    }

    private func add(_ text: String) {
        guard !text.isEmpty else { return }
        let number = NotesApp.store.add(text)
        Terminal.say("Note \(number) is kept.")
    }

    private func list() {
        let notes = NotesApp.store.notes
        if notes.isEmpty { Terminal.say("There is no note yet.") }
        for (index, note) in notes.enumerated() { Terminal.say("\(index + 1)  \(note)") }
    }

    private func show(_ number: Substring) {
        let notes = NotesApp.store.notes
        guard let number = Int(number), notes.indices.contains(number - 1) else {
            return Terminal.say("There is no note \(number); 'list' shows all.")
        }
        shown = number
        Terminal.say(notes[number - 1])
    }

    private func delete(_ number: Substring) {
        guard let index = Int(number), NotesApp.store.remove(index - 1) else {
            return Terminal.say("There is no note \(number); 'list' shows all.")
        }
        shown = nil
        Terminal.say("Note \(index) is gone.")
    }
}
