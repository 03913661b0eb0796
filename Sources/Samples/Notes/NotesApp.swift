internal import ApplicationKit

/// Notes: keeps notes of one line each in a file. It has scenes, a URL scheme (`notes:3`,
/// `notes:new`) and a quick action (`new-note`), and restores its state. It shows its notes on a
/// terminal: `greenroomctl run io.greenroom.Notes`.
@main final class NotesApp: ApplicationDelegate {
    static var sceneDelegateClass: (any SceneDelegate.Type)? { NotesScene.self }

    static let store = NoteStore()

    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        if application.launchInfo.isFirstLaunch { Self.store.welcome() }
        // Reading the file can wait until the user sees something; a request that needs a note
        // reads it.
        application.afterLaunch { Self.store.load() }
        return true
    }

    func applicationWillTerminate(_ application: Application) { Terminal.say("Goodbye.") }
}
