import ApplicationKit
import Glibc

@MainActor let delegates: [String: any ApplicationDelegate.Type] = [
    "both": Both.self, "will": Will.self, "did": Did.self, "neither": Neither.self,
    "scenes": SceneApp.self, "bare": Bare.self, "busy": Busy.self, "state": Stateful.self,
    "stateScenes": StatefulScenes.self, "measured": Measured.self,
    "tasks": TaskApp.self, "nearMiss": NearMiss.self,
]

/// Implements everything but the two methods whose absence makes a difference.
@MainActor protocol Talkative: ApplicationDelegate {}

extension Talkative {
    func will(_ application: Application, _ options: Application.LaunchOptions?) -> Bool {
        say("willFinishLaunching \(words(options)) \(application.applicationState)")
        if let options, variable("PROBE_VALUES") != nil { sayValues(of: options) }
        return variable("PROBE_WILL") != "false"
    }
    func did(_ application: Application, _ options: Application.LaunchOptions?) -> Bool {
        say("didFinishLaunching \(words(options)) \(application.applicationState)")
        return variable("PROBE_DID") != "false"
    }
    private func words(_ options: Application.LaunchOptions?) -> String {
        options?.keys.description ?? "nil"
    }

    func application(_ application: Application, loadInterfaceNamed name: String) {
        say("loadInterface \(name)")
    }
    func applicationDidBecomeActive(_ application: Application) {
        say("didBecomeActive \(application.applicationState)\(data(application))")
    }
    func applicationWillResignActive(_ application: Application) {
        say("willResignActive \(application.applicationState)\(data(application))")
    }
    func applicationDidEnterBackground(_ application: Application) {
        say("didEnterBackground \(application.applicationState)\(data(application))")
    }
    func applicationWillEnterForeground(_ application: Application) {
        say("willEnterForeground \(application.applicationState)\(data(application))")
    }
    func applicationWillTerminate(_ application: Application) { say("willTerminate") }
    func applicationDidReceiveMemoryWarning(_ application: Application) { say("memoryWarning") }
    func applicationSignificantTimeChange(_ application: Application) { say("timeChange") }
    func applicationProtectedDataWillBecomeUnavailable(_ application: Application) {
        say("protectedDataWillBecomeUnavailable \(secret(application))\(data(application))")
    }
    func applicationProtectedDataDidBecomeAvailable(_ application: Application) {
        say("protectedDataDidBecomeAvailable \(secret(application))\(data(application))")
    }
    /// If a test asks for it: whether protected data can be read through the library and in the
    /// directory.
    private func data(_ application: Application) -> String {
        guard variable("PROBE_DATA") != nil else { return "" }
        let path = variable("CREDENTIALS_DIRECTORY") ?? "-"
        let isThere = access(path + "/token", R_OK) == 0
        return " data \(application.isProtectedDataAvailable) directory \(isThere)"
    }
    private func secret(_ application: Application) -> String {
        ["token", "absent"].map { name in
            do throws(ProtectedDataError) {
                let bytes = try application.credential(named: name)
                return "\(name)=" + (bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nil")
            } catch {
                return "\(name): \(error == .unavailable ? "unavailable" : "\(error)")"
            }
        }.joined(separator: ", ")
    }

    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool {
        say("open \(url) from \(options.sourceApplication ?? "-") \(application.applicationState)")
        if url == "probe:secret" { say("secret \(secret(application))") }
        return variable("PROBE_OPEN") != "false"
    }
    func application(
        _ application: Application, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) {
        say("performAction \(shortcutItem.type)")
        if variable("PROBE_ACTION") == "later" {
            Task {
                await Task.yield()
                say("performed later")
                completionHandler(true)
            }
        } else {
            completionHandler(variable("PROBE_ACTION") != "false")
        }
    }
    func application(
        _ application: Application, willContinueUserActivityWithType userActivityType: String
    ) -> Bool {
        say("willContinue \(userActivityType)")
        return false
    }
    func application(_ application: Application, continue userActivity: UserActivity) -> Bool {
        say("continue \(userActivity.activityType) \(userActivity.userInfo)")
        return true
    }
    func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void
    ) {
        say("remoteNotification \(payload)")
        completionHandler(.newData)
    }

    func application(_ application: Application, didReceiveLocalNotification payload: String) {
        say("localNotification \(payload)")
    }
    func application(
        _ application: Application, userDidAcceptCloudKitShareWith metadata: String
    ) {
        say("acceptShare \(metadata)")
    }
    func application(
        _ application: Application, didReceive response: NotificationResponse,
        withCompletionHandler completionHandler: @escaping @MainActor () -> Void
    ) {
        guard variable("PROBE_RESPONSES") != nil else {
            return self.application(
                application, didReceiveRemoteNotification: response.payload ?? "",
                fetchCompletionHandler: { _ in completionHandler() })
        }
        say("response \(response.actionIdentifier) \(response.payload ?? "-")")
        completionHandler()
    }

    func application(
        _ application: Application, handleEventsFor reason: LaunchInfo.Reason,
        options: Application.LaunchOptions
    ) {
        say("handleEvents \(reason) \(options.keys) \(application.launchInfo.reason)")
    }

    func application(
        _ application: Application, didDiscardSceneSessions sceneSessions: Set<SceneSession>
    ) {
        say("didDiscard \(sceneSessions.map(\.persistentIdentifier).sorted())")
    }
}

final class Both: Talkative {
    init() {
        say("delegate")
        let (center, name) = (
            Application.notificationCenter, Application.didFinishLaunchingNotification
        )
        // An observer that is removed before the notification comes.
        let observation = center.addObserver(forName: name) { _ in say("observed") }
        center.addObserver(forName: name) { note in
            say("didFinishLaunchingNotification \(note.userInfo?.keys.description ?? "nil")")
        }
        center.removeObserver(observation)
    }
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { will(application, launchOptions) }
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { did(application, launchOptions) }
}

final class Will: Talkative {
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { will(application, launchOptions) }
}

final class Did: Talkative {
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { did(application, launchOptions) }
}

final class Neither: Talkative {}

/// Prints the value of each of UIKit's keys by the type that is written here.
@MainActor func sayValues(of options: Application.LaunchOptions) {
    let texts: [String?] = [
        options[.urlText], options[.sourceApplication], options[.annotation],
        options[.localNotification], options[.remoteNotification], options[.userActivityType],
        options[.cloudKitShareMetadata], options[.eventAttribution],
    ]
    say("texts \(texts.map { $0 ?? "-" })")
    let isForLocation: Bool? = options[.location]
    let lists: [[String]?] = [
        options[.newsstandDownloads], options[.bluetoothCentrals], options[.bluetoothPeripherals],
    ]
    say("location \(isForLocation == true) lists \(lists.map { $0 ?? [] })")
    let activity: UserActivity? = options[.userActivityDictionary]
    let item: ApplicationShortcutItem? = options[.shortcutItem]
    say("activity \(words(activity)) action \(words(item))")
}

@MainActor func words(_ activity: UserActivity?) -> [String] {
    guard let activity else { return [] }
    let rest = [activity.title, activity.webpageURL, activity.targetContentIdentifier]
    return [activity.activityType] + rest.map { $0 ?? "-" } + [activity.userInfo["k"] ?? "-"]
}

@MainActor func words(_ item: ApplicationShortcutItem?) -> [String] {
    guard let item else { return [] }
    return [
        item.type, item.localizedTitle, item.localizedSubtitle ?? "-", item.userInfo["k"] ?? "-",
    ]
}

/// A delegate with methods that nearly match some of the protocol's.
final class NearMiss: ApplicationDelegate {
    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [String: String]?
    ) -> Bool { true }
    func applicationDidBecomActive(_ application: Application) {}
    func applicationWillTerminate(_ application: Application) {}
    /// This method of the class's own matches none.
    func applicationWillBeTranslated(_ application: Application) {}
}

/// Implements nothing.
final class Bare: ApplicationDelegate {
    init() { say("bare") }
}

/// Prints what it sees around it, and keeps the main actor busy in all ways.
final class Busy: Talkative {
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        application.afterLaunch { say("afterLaunch \(application.applicationState)") }
        Task {
            say("task prewarm=\(variable("ActivePrewarm") ?? "-")")
            await Self.elsewhere()
            say("back on the main thread: \(pthread_equal(pthread_self(), mainThread) != 0)")
            let info = application.launchInfo
            say("prewarmed \(info.wasPrewarmed) because \(info.reason)")
            do throws(RequestError) {
                try await application.open(variable("PROBE_OPENS") ?? "https://example.org")
                say("opened")
            } catch {
                say("not opened: \(error)")
            }
            application.didDrawFirstFrame()
        }
        let fromInfo = application.launchInfo.arguments.dropFirst()
        let isSame = fromInfo == CommandLine.arguments.dropFirst()
        say("arguments \(fromInfo) \(isSame) prewarm=\(variable("ActivePrewarm") ?? "-")")

        say("channel in environment: \(variable("GREENROOM_CHANNEL") != nil)")
        if variable("PROBE_SLOW") != nil { usleep(260_000) }
        return true
    }
    @concurrent private static func elsewhere() async {
        let thread = pthread_self()
        let main = await MainActor.run { mainThread }
        say("off the main thread: \(pthread_equal(thread, main) == 0)")
    }
}
