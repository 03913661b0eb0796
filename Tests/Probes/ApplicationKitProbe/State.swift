import ApplicationKit
import Glibc

/// An app without scenes that saves a note and, in an object of its own, a line:
///
///     PROBE_SAVE, PROBE_RESTORE=false    what its callbacks return
///     PROBE_NOTE, PROBE_LINE             what it saves; with PROBE_BIG=1, more than is allowed
///     PROBE_OBJECT=late                  the object is made when it is asked for
///     PROBE_FAIL=WORD                    aborts when it prints WORD
///     PROBE_EXTEND=1                     restores until it is told to open state:complete
final class Stateful: Talkative {
    let editor = Editor()

    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        let info = application.launchInfo
        say("first \(info.isFirstLaunch) of version \(info.isFirstLaunchOfVersion)")
        if variable("PROBE_WRITE") != nil { write(into: application.container) }
        if variable("PROBE_OBJECT") != "late" {
            application.registerObject(editor, forStateRestoration: "editor=1")
        }
        return will(application, launchOptions)
    }
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { did(application, launchOptions) }

    func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool {
        say("shouldSave \(application.applicationState)")
        return variable("PROBE_SAVE") != "false"
    }
    func application(
        _ application: Application, willEncodeRestorableStateWith coder: StateCoder
    ) {
        say("willEncode")
        coder.encode(variable("PROBE_NOTE") ?? "milk", forKey: "note")
        if variable("PROBE_BIG") != nil {
            coder.encode(String(repeating: "x", count: 100_000), forKey: "big")
        }
    }
    func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool {
        say("shouldRestore version \(coder.appVersion) \(application.applicationState)")
        return variable("PROBE_RESTORE") != "false" && coder.launchDocumentURL == nil
    }
    func application(
        _ application: Application, objectWithRestorationIdentifier identifier: String,
        coder: StateCoder
    ) -> (any StateRestoring)? {
        say("object \(identifier)")
        return identifier == "editor=1" ? editor : nil
    }
    func application(
        _ application: Application, didDecodeRestorableStateWith coder: StateCoder
    ) {
        say("didDecode \(coder.decode(String.self, forKey: "note") ?? "nothing")")
        if variable("PROBE_EXTEND") != nil { application.extendStateRestoration() }
        fail("didDecode")
    }
    func applicationDidBecomeActive(_ application: Application) {
        say("didBecomeActive \(application.applicationState)")
        fail("didBecomeActive")
    }

    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool {
        say("open \(url)")
        if url == "state:complete" { application.completeStateRestoration() }
        if url == "state:fail" { abort() }
        return true
    }
}

@MainActor func write(into container: Container?) {
    let folders = [
        container?.stateDirectory, container?.cacheDirectory, container?.temporaryDirectory,
    ]
    let names = ["STATE_DIRECTORY", "CACHE_DIRECTORY", "TMPDIR"]
    for (name, folder) in zip(names, folders) {
        let file = open((folder ?? "/nowhere") + "/file", O_WRONLY | O_CREAT, 0o644)
        say("\(name) \(variable(name) == folder) written \(file >= 0)")
        close(file)
    }
}

func fail(_ word: String) {
    if variable("PROBE_FAIL") == word { abort() }
}

final class Editor: StateRestoring {
    func encodeRestorableState(with coder: StateCoder) {
        say("encode")
        coder.encode(Int(variable("PROBE_LINE") ?? "7"), forKey: "line")
    }
    func decodeRestorableState(with coder: StateCoder) {
        say("decode \(coder.decode(Int.self, forKey: "line") ?? -1)")
    }
    func applicationFinishedRestoringState() { say("finished") }
}

/// An app with scenes, each of which saves what it was asked to open.
final class StatefulScenes: Talkative {
    static var sceneDelegateClass: (any SceneDelegate.Type)? { StatefulScene.self }

    func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool {
        say("shouldSave")
        return true
    }
}

final class StatefulScene: SceneDelegate {
    private var place: String?

    func scene(
        _ scene: Scene, willConnectTo session: SceneSession, options: Scene.ConnectionOptions
    ) {
        let restored = session.stateRestorationActivity?.userInfo["place"] ?? "nil"
        say("willConnect \(session.persistentIdentifier) \(restored)")
        place = options.urlContexts.first?.url
    }
    func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity) {
        place = activity.userInfo["place"]
        say("restore \(scene.session.persistentIdentifier) \(place ?? "nil")")
        if variable("PROBE_EXTEND") != nil { scene.extendStateRestoration() }
        fail("restore")
    }
    func sceneDidBecomeActive(_ scene: Scene) {
        say("didBecomeActive")
        fail("didBecomeActive")
    }
    func sceneDidEnterBackground(_ scene: Scene) { say("didEnterBackground") }
    func stateRestorationActivity(for scene: Scene) -> UserActivity? {
        say("activity \(scene.activationState) \(place ?? "nil")")
        guard let place else { return nil }
        var activity = UserActivity(activityType: "org.example.reading")
        activity.userInfo = ["place": place]
        return activity
    }
    func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext]) {
        place = urlContexts[0].url
        say("open \(urlContexts[0].url)")
    }
}
